// Gives every location its functions: addresses grouped by the file that they
// lie in, in the order of the file, so that each module is opened and each unit
// of its DWARF walked once.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/export.h"
#include "exporters/frame_names.h"
#include "exporters/symbolizer/module_names.h"

namespace unspool::exporters {
namespace {

constexpr uint64_t kProgressInterval = 256;  // locations between two reports

// Locations without a name in one file, whatever mappings they came through.
struct ModuleKey {
  StringId filename = 0;
  StringId build_id = 0;
  auto operator<=>(const ModuleKey&) const = default;
};

class Symbolizer {
 public:
  Symbolizer(Profile& profile, const Progress& progress)
      : profile_(profile), progress_(progress) {
    for (uint32_t i = 0; i < profile.functions.size(); ++i) {
      functions_.emplace(Key(profile.functions[i]), i);
    }
  }

  void Run() {
    std::map<ModuleKey, std::vector<uint32_t>> by_module;
    for (uint32_t i = 0; i < profile_.locations.size(); ++i) {
      const Location& location = profile_.locations[i];
      if (location.line_count != 0) continue;
      ++total_;
      ModuleKey key;
      if (location.mapping != kNoIndex) {
        const Mapping& mapping = profile_.mappings[location.mapping];
        key = {mapping.filename, mapping.build_id};
      }
      by_module[key].push_back(i);
    }
    // Also when the caller's progress function throws to end this early.
    const absl::Cleanup set_flags = [this] { SetFlags(); };
    for (const auto& [key, locations] : by_module) {
      NameModule(key, locations);
      done_ += locations.size();
    }
  }

 private:
  using FunctionKey = std::tuple<StringId, StringId, StringId, int64_t>;

  static FunctionKey Key(const Function& function) {
    return {function.name, function.system_name, function.filename,
            function.start_line};
  }

  void NameModule(const ModuleKey& key,
                  const std::vector<uint32_t>& locations) {
    const std::string path(profile_.strings[key.filename]);
    const bool is_pseudo =
        path.empty() || path.starts_with('[') || path.starts_with("//");
    if (is_pseudo && path != "[vdso]") {
      // What is no file is its own name: [jit], [heap], //anon.
      NameAll(locations, path.empty() ? "[unknown]" : path);
      return;
    }
    Report(path, done_);
    const std::string_view build_id = profile_.strings[key.build_id];
    absl::StatusOr<std::unique_ptr<ModuleNames>> names =
        is_pseudo ? ModuleNames::OpenVdso(build_id)
                  : ModuleNames::Open(path, build_id);
    if (!names.ok()) {
      AddProblem(path + ": " + std::string(names.status().message()));
      if (is_pseudo) NameAll(locations, path);
      return;
    }
    NameLocations(**names, path, locations);
  }

  void NameLocations(ModuleNames& names, const std::string& path,
                     const std::vector<uint32_t>& locations) {
    // Sorted by address: neighbours share their unit's tables.
    std::vector<std::pair<uint64_t, uint32_t>> by_address;
    for (uint32_t i : locations) {
      const Location& location = profile_.locations[i];
      const Mapping& mapping = profile_.mappings[location.mapping];
      const uint64_t offset =
          location.address - mapping.memory_start + mapping.file_offset;
      by_address.emplace_back(names.AddressOfOffset(offset).value_or(offset),
                              i);
    }
    std::ranges::sort(by_address);
    const std::string_view module = BaseName(path);
    std::vector<NamedFrame> frames;
    std::optional<uint64_t> last_address;
    uint64_t named = 0;
    for (const auto& [address, index] : by_address) {
      if (address != last_address) frames = names.Find(address, module);
      last_address = address;
      SetFrames(index, frames);
      if (++named % kProgressInterval == 0) Report(path, done_ + named);
    }
  }

  void NameAll(const std::vector<uint32_t>& locations,
               const std::string& name) {
    NamedFrame frame;
    frame.name = name;
    frame.system_name = name;
    for (uint32_t i : locations) SetFrames(i, {frame});
  }

  void SetFrames(uint32_t location, const std::vector<NamedFrame>& frames) {
    std::vector<Line> lines;
    lines.reserve(frames.size());
    for (const NamedFrame& frame : frames) {
      lines.push_back({AddFunction(frame), frame.line});
    }
    profile_.SetLines(profile_.locations[location], lines);
  }

  uint32_t AddFunction(const NamedFrame& frame) {
    const Function function = {
        .name = profile_.strings.Intern(frame.name),
        .system_name = profile_.strings.Intern(frame.system_name),
        .filename = profile_.strings.Intern(frame.file),
        .start_line = frame.start_line,
    };
    const auto [entry, is_new] = functions_.try_emplace(
        Key(function), static_cast<uint32_t>(profile_.functions.size()));
    if (is_new) profile_.functions.push_back(function);
    return entry->second;
  }

  // What a mapping has is what its locations have: functions if all of them do,
  // the rest if any does. One without locations claims nothing.
  void SetFlags() {
    std::vector<bool> is_new(profile_.mappings.size(), true);
    for (const Location& location : profile_.locations) {
      if (location.mapping == kNoIndex) continue;
      Mapping& mapping = profile_.mappings[location.mapping];
      if (is_new[location.mapping]) {
        mapping.has_functions = true;
        mapping.has_filenames = false;
        mapping.has_line_numbers = false;
        mapping.has_inline_frames = false;
        is_new[location.mapping] = false;
      }
      if (location.line_count == 0) mapping.has_functions = false;
      if (location.line_count > 1) mapping.has_inline_frames = true;
      for (const Line& line : profile_.lines(location)) {
        const Function& function = profile_.functions[line.function];
        if (function.name == 0) mapping.has_functions = false;
        if (function.filename != 0) mapping.has_filenames = true;
        if (line.line != 0) mapping.has_line_numbers = true;
      }
    }
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

  void Report(std::string_view path, uint64_t done) const {
    if (progress_) {
      progress_("naming " + std::string(BaseName(path)), done, total_);
    }
  }

  Profile& profile_;
  const Progress& progress_;
  absl::flat_hash_map<FunctionKey, uint32_t> functions_;
  uint64_t done_ = 0;  // locations of earlier modules
  uint64_t total_ = 0;
};

}  // namespace

void Symbolize(Profile& profile, const Progress& progress) {
  Symbolizer(profile, progress).Run();
}

}  // namespace unspool::exporters
