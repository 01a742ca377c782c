#include "exporters/jit_code.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "exporters/pid_namespaces.h"
#include "exporters/symbolizer/jit_names.h"

namespace unspool::exporters {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kKernelStart = uint64_t{1} << 63;

class JitCode {
 public:
  JitCode(Profile& profile, FunctionTable* functions,
          const RecordedFiles* files, const Tick& tick)
      : profile_(profile),
        functions_(functions),
        files_(files),
        namespaces_(profile),
        names_(tick) {}

  std::vector<std::string> Run() {
    if (!FindCandidates()) return {};
    FindUsers();
    {
      const absl::Cleanup replace = [this] {
        ReplaceInSamples();
        DropEmptyMappings();
      };
      for (auto& [pid, locations] : of_process_) {
        if (pid > 0) NameProcess(pid, locations);
      }
    }
    std::vector<std::string> problems = names_.problems();
    if (!unknown_.empty()) problems.push_back(UnknownProblem());
    return problems;
  }

 private:
  using Locations = std::vector<uint32_t>;

  bool FindCandidates() {
    is_candidate_.resize(profile_.locations.size());
    bool is_any = false;
    for (size_t i = 0; i < is_candidate_.size(); ++i) {
      const Location& location = profile_.locations[i];
      std::string_view path;
      if (location.mapping != kNoIndex) {
        path = profile_.strings[profile_.mappings[location.mapping].filename];
      }
      is_candidate_[i] = location.line_count == 0 && IsPseudoFile(path) &&
                         location.address < kKernelStart;
      is_any = is_any || is_candidate_[i];
    }
    return is_any;
  }

  // The process of a sample; 0 if it does not say.
  int64_t PidOf(const Sample& sample) const {
    for (const Label& label : sample.labels) {
      if (label.str == 0 && profile_.strings[label.key] == "pid") {
        return label.num;
      }
    }
    return 0;
  }

  // Calls use(pid, index of the sample, position in it) for each candidate.
  template <typename Use>
  void ForEachUse(Use use) {
    for (size_t i = 0; i < profile_.sample_count(); ++i) {
      const Sample sample = profile_.sample(i);
      const int64_t pid = PidOf(sample);
      for (size_t at = 0; at < sample.locations.size(); ++at) {
        // Locations that were added on the way are none.
        const uint32_t location = sample.locations[at];
        if (location < is_candidate_.size() && is_candidate_[location]) {
          use(pid, i, at);
        }
      }
    }
  }

  void FindUsers() {
    ForEachUse([this](int64_t pid, size_t sample, size_t at) {
      const uint32_t location = profile_.sample(sample).locations[at];
      Locations& locations = of_process_[pid];
      if (named_.try_emplace({pid, location}, location).second) {
        locations.push_back(location);
        ++users_[location];
      }
    });
  }

  JitProcess ProcessOf(int64_t pid) const {
    JitProcess process = {.pid = pid,
                          .has_our_number = namespaces_.IsOurs(pid),
                          .folders = {},
                          .start_ns = profile_.time_ns,
                          .end_ns = 0};
    if (profile_.duration_ns != 0) {
      process.end_ns = profile_.time_ns + profile_.duration_ns;
    }
    if (files_ != nullptr && !namespaces_.IsAmbiguous(pid)) {
      process.folders = files_->FindFolders(pid);
    }
    return process;
  }

  void NameProcess(int64_t pid, Locations& locations) {
    const JitProcess process = ProcessOf(pid);
    if (!process.has_our_number && process.folders.temporary.empty() &&
        process.folders.working.empty()) {
      unknown_.push_back(pid);
      return;
    }
    std::ranges::sort(locations, {}, [this](uint32_t location) {
      return profile_.locations[location].address;
    });
    std::vector<uint64_t> addresses;
    for (uint32_t location : locations) {
      addresses.push_back(profile_.locations[location].address);
    }
    // Several mappings may have an address.
    addresses.erase(std::unique(addresses.begin(), addresses.end()),
                    addresses.end());
    JitAddresses names(addresses);
    const absl::Cleanup take = [&] {
      TakeNames(pid, locations, addresses, names.names());
    };
    names_.Find(process, &names);
  }

  std::string UnknownProblem() const {
    const size_t more = unknown_.size() - 1;
    return "code in no file of process " + std::to_string(unknown_[0]) +
           (more == 0 ? "" : " and of " + std::to_string(more) + " more") +
           ": it ran in another pid namespace, and which files its JIT "
           "compiler wrote is not known: look at the profile where it ran";
  }

  void TakeNames(int64_t pid, const Locations& locations,
                 const std::vector<uint64_t>& addresses,
                 const NameTable& names) {
    const std::vector<uint32_t> functions =
        functions_->InternAll(names, &profile_);
    for (const NameTable::Entry& entry : names.entries()) {
      std::vector<Line> lines;
      for (const Line& line : names.lines(entry)) {
        lines.push_back({functions[line.function], line.line});
      }
      const uint64_t address = addresses[entry.key];
      const auto address_of = [this](uint32_t location) {
        return profile_.locations[location].address;
      };
      auto same = std::ranges::lower_bound(locations, address, {}, address_of);
      for (; same != locations.end() && address_of(*same) == address; ++same) {
        SetName(pid, *same, lines);
      }
    }
  }

  void SetName(int64_t pid, uint32_t location, std::span<const Line> lines) {
    if (users_[location] > 1) {
      named_[{pid, location}] =
          static_cast<uint32_t>(profile_.locations.size());
      profile_.locations.push_back(
          {.address = profile_.locations[location].address});
      location = static_cast<uint32_t>(profile_.locations.size() - 1);
      has_copies_ = true;
    }
    Location& named = profile_.locations[location];
    named.mapping = JitMapping(named.address);
    profile_.SetLines(named, lines);
  }

  // The mapping of all such code, wide enough for `address`.
  uint32_t JitMapping(uint64_t address) {
    const uint64_t start = address & ~(kPageBytes - 1);
    if (mapping_ == kNoIndex) {
      mapping_ = static_cast<uint32_t>(profile_.mappings.size());
      profile_.mappings.push_back(
          {.memory_start = start,
           .memory_limit = start + kPageBytes,
           .filename = profile_.strings.Intern("[jit]")});
    }
    Mapping& mapping = profile_.mappings[mapping_];
    mapping.memory_start = std::min(mapping.memory_start, start);
    mapping.memory_limit = std::max(mapping.memory_limit, start + kPageBytes);
    return mapping_;
  }

  void ReplaceInSamples() {
    if (!has_copies_) return;
    ForEachUse([this](int64_t pid, size_t sample, size_t at) {
      const uint32_t location = profile_.sample(sample).locations[at];
      profile_.SetLocation(sample, at, named_[{pid, location}]);
    });
  }

  // Of those that all locations have left.
  void DropEmptyMappings() {
    if (mapping_ == kNoIndex) return;
    std::vector<bool> is_kept;
    for (const Mapping& mapping : profile_.mappings) {
      is_kept.push_back(!IsPseudoFile(profile_.strings[mapping.filename]));
    }
    for (const Location& location : profile_.locations) {
      if (location.mapping != kNoIndex) is_kept[location.mapping] = true;
    }
    std::vector<uint32_t> moved_to(is_kept.size());
    uint32_t count = 0;
    for (size_t i = 0; i < is_kept.size(); ++i) {
      moved_to[i] = count;
      if (is_kept[i]) profile_.mappings[count++] = profile_.mappings[i];
    }
    profile_.mappings.resize(count);
    for (Location& location : profile_.locations) {
      if (location.mapping != kNoIndex) {
        location.mapping = moved_to[location.mapping];
      }
    }
  }

  Profile& profile_;
  FunctionTable* const functions_;
  const RecordedFiles* const files_;
  const PidNamespaces namespaces_;
  JitNames names_;
  std::vector<int64_t> unknown_;  // processes whose files cannot be told
  std::vector<bool> is_candidate_;
  std::map<int64_t, Locations> of_process_;   // in a fixed order
  absl::flat_hash_map<uint32_t, int> users_;  // processes of a location
  // By process and location: the location that the process is to have.
  absl::flat_hash_map<std::pair<int64_t, uint32_t>, uint32_t> named_;
  uint32_t mapping_ = kNoIndex;
  bool has_copies_ = false;
};

}  // namespace

bool IsPseudoFile(std::string_view path) {
  return path.empty() || path.starts_with("//") ||
         (path.starts_with('[') && path != "[vdso]");
}

std::vector<std::string> NameJitCode(Profile& profile, FunctionTable* functions,
                                     const RecordedFiles* files,
                                     const Tick& tick) {
  return JitCode(profile, functions, files, tick).Run();
}

}  // namespace unspool::exporters
