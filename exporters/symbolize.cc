// Gives every location its functions: each distinct address of a file is asked
// for once, by naming_pool.h; what lies in no file, by jit_code.h.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "exporters/export.h"
#include "exporters/frame_names.h"
#include "exporters/jit_code.h"
#include "exporters/name_table.h"
#include "exporters/naming_pool.h"
#include "exporters/symbolizer/kernel_symbols.h"

namespace unspool::exporters {
namespace {

constexpr std::string_view kVdsoPath = "[vdso]";

struct FileKey {
  StringId filename = 0;
  StringId build_id = 0;
  auto operator<=>(const FileKey&) const = default;
};

// Where in a file a location without a name lies, whatever mapping it came
// through.
struct Place {
  FileKey file;
  uint64_t offset = 0;
  uint32_t location = 0;
  auto operator<=>(const Place&) const = default;
};

class Symbolizer {
 public:
  Symbolizer(Profile& profile, const Progress& progress,
             const RecordedFiles* files)
      : profile_(profile), progress_(progress), files_(files) {
    for (uint32_t i = 0; i < profile.functions.size(); ++i) {
      functions_.Note(profile.functions[i], i);
    }
  }

  void Run() {
    // Also when the caller's progress function throws to end this early.
    const absl::Cleanup set_flags = [this] { profile_.UpdateMappingFlags(); };
    const Tick tick = [this] {
      if (progress_) progress_("naming JIT-compiled code", 0, 0);
    };
    for (const std::string& problem :
         NameJitCode(profile_, &functions_, files_, tick)) {
      AddProblem(problem);
    }
    CollectLocations();
    NamingPool pool(MakeRequests());
    std::exception_ptr stopped;
    try {
      pool.Run([this](std::string_view path, uint64_t done) {
        if (progress_) {
          progress_("naming " + std::string(BaseName(path)), done, total_);
        }
      });
    } catch (...) {
      stopped = std::current_exception();
    }
    TakeNames(pool);
    if (stopped != nullptr) std::rethrow_exception(stopped);
  }

 private:
  // Fills places_ with what lies in files; what is no file is its own name:
  // [heap], //anon.
  void CollectLocations() {
    for (uint32_t i = 0; i < profile_.locations.size(); ++i) {
      const Location& location = profile_.locations[i];
      if (location.line_count != 0) continue;
      Mapping mapping;
      if (location.mapping != kNoIndex) {
        mapping = profile_.mappings[location.mapping];
      }
      const std::string_view path = profile_.strings[mapping.filename];
      if (IsPseudoFile(path)) {
        const std::string_view kernel =
            IsKernelPath(path) ? KernelFunction(location) : "";
        SetName(i, !kernel.empty() ? kernel
                   : path.empty()  ? "[unknown]"
                                   : path);
        continue;
      }
      places_.push_back(
          {{mapping.filename, mapping.build_id},
           location.address - mapping.memory_start + mapping.file_offset,
           i});
    }
    std::ranges::sort(places_);
  }

  // "" if it is not of the kernel that runs here.
  std::string_view KernelFunction(const Location& location) {
    const Mapping& mapping = profile_.mappings[location.mapping];
    const auto [kernel, is_new] = kernels_.try_emplace(location.mapping);
    if (is_new) {
      const absl::Status status = kernel->second.Load(
          profile_.strings[mapping.build_id], mapping.memory_start);
      if (!status.ok()) {
        AddProblem(std::string(profile_.strings[mapping.filename]) + ": " +
                   std::string(status.message()));
      }
    }
    return kernel->second.Find(location.address);
  }

  std::vector<NamingRequest> MakeRequests() {
    std::vector<NamingRequest> requests;
    const Place* last = nullptr;
    for (const Place& place : places_) {
      const bool is_new_module = last == nullptr || last->file != place.file;
      if (is_new_module) {
        paths_.emplace_back(profile_.strings[place.file.filename]);
        requests.push_back(
            {.path = paths_.back(),
             .build_id = std::string(profile_.strings[place.file.build_id]),
             .found = {},
             .code_offset =
                 profile_.mappings[profile_.locations[place.location].mapping]
                     .file_offset,
             .offsets = {}});
        if (files_ != nullptr) {
          requests.back().found =
              files_->FindFile(requests.back().path, requests.back().build_id);
        }
        starts_.emplace_back();
      }
      if (is_new_module || last->offset != place.offset) {
        requests.back().offsets.push_back(place.offset);
        starts_.back().push_back(static_cast<size_t>(&place - &places_[0]));
        ++total_;
      }
      last = &place;
    }
    return requests;
  }

  // The places of the address that a request has at `key`.
  std::span<const Place> PlacesOf(size_t request, uint32_t key) const {
    const size_t start = starts_[request][key];
    size_t end = start + 1;
    while (end < places_.size() && places_[end].file == places_[start].file &&
           places_[end].offset == places_[start].offset) {
      ++end;
    }
    return std::span(places_).subspan(start, end - start);
  }

  void TakeNames(const NamingPool& pool) {
    for (size_t i = 0; i < pool.answers().size(); ++i) {
      const NamingAnswer& answer = pool.answers()[i];
      if (!answer.status.ok()) {
        AddProblem(paths_[i] + ": " + std::string(answer.status.message()));
        if (paths_[i] == kVdsoPath) NameAll(i, kVdsoPath);
      }
      for (const std::string& problem : pool.Problems(i)) AddProblem(problem);
      for (const NameTable& names : answer.names) TakeTable(names, i);
    }
  }

  void TakeTable(const NameTable& names, size_t request) {
    const std::vector<uint32_t> functions =
        functions_.InternAll(names, &profile_);
    std::vector<Line> lines;
    for (const NameTable::Entry& entry : names.entries()) {
      lines.clear();
      for (const Line& line : names.lines(entry)) {
        lines.push_back({functions[line.function], line.line});
      }
      for (const Place& place : PlacesOf(request, entry.key)) {
        profile_.SetLines(profile_.locations[place.location], lines);
      }
    }
  }

  void NameAll(size_t request, std::string_view name) {
    for (uint32_t key = 0; key < starts_[request].size(); ++key) {
      for (const Place& place : PlacesOf(request, key)) {
        SetName(place.location, name);
      }
    }
  }

  void SetName(uint32_t location, std::string_view name) {
    const StringId id = profile_.strings.Intern(name);
    const Line line = {
        functions_.Intern({.name = id, .system_name = id}, &profile_.functions),
        0};
    profile_.SetLines(profile_.locations[location], {&line, 1});
  }

  // A profile that is named again has its problems noted already.
  void AddProblem(const std::string& problem) {
    const StringId comment =
        profile_.strings.Intern("unspool.unnamed=" + problem);
    if (std::ranges::find(profile_.comments, comment) ==
        profile_.comments.end()) {
      profile_.comments.push_back(comment);
    }
  }

  Profile& profile_;
  const Progress& progress_;
  const RecordedFiles* const files_;
  FunctionTable functions_;
  std::map<uint32_t, KernelSymbols> kernels_;  // by mapping
  std::vector<Place> places_;                  // sorted
  // By request: its path, and where in places_ each of its offsets begins.
  std::vector<std::string> paths_;
  std::vector<std::vector<size_t>> starts_;
  uint64_t total_ = 0;  // addresses
};

}  // namespace

void Symbolize(Profile& profile, const Progress& progress,
               const RecordedFiles* files) {
  Symbolizer(profile, progress, files).Run();
}

}  // namespace unspool::exporters
