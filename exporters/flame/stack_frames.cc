#include "exporters/flame/stack_frames.h"

#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace unspool::exporters {
namespace {

FrameKind KindOf(std::string_view name, std::string_view module) {
  if (name.starts_with("[truncated: ")) return FrameKind::kTruncated;
  if (name.starts_with("[lost: ") || name == "[unsampled]" ||
      name == "[runnable]") {
    return FrameKind::kMissing;
  }
  // As perf and we call the kernel's own mapping, an image of it, and modules.
  if (module.starts_with("[kernel") || module.starts_with("[guest.kernel") ||
      module.starts_with("vmlinux") || module.ends_with(".ko")) {
    return FrameKind::kKernel;
  }
  return FrameKind::kCode;
}

std::string_view ModuleOf(const Profile& profile, const Location& location) {
  if (location.mapping == kNoIndex) return "";
  return BaseName(profile.strings[profile.mappings[location.mapping].filename]);
}

}  // namespace

StackFrames::StackFrames(const Profile& profile, bool is_difference)
    : names_(profile), frames_{{"", "", FrameKind::kFolded}} {
  absl::flat_hash_map<std::pair<uint32_t, std::string_view>, uint32_t> frames;
  absl::flat_hash_map<std::tuple<std::string_view, int64_t, bool>, uint32_t>
      places;
  first_.reserve(profile.locations.size() + 1);
  for (uint32_t i = 0; i < profile.locations.size(); ++i) {
    first_.push_back(at_.size());
    const std::string_view module = ModuleOf(profile, profile.locations[i]);
    const std::span<const Line> lines = profile.lines(profile.locations[i]);
    const std::span<const uint32_t> names = names_.frames(i);
    for (size_t k = 0; k < names.size(); ++k) {
      const std::string_view name = names_.name(names[k]);
      Place place;
      place.inlined = k + 1 < names.size();
      if (k < lines.size()) {
        place.file =
            profile.strings[profile.functions[lines[k].function].filename];
        place.line = lines[k].line;
      }
      const auto [frame, new_frame] =
          frames.try_emplace({names[k], is_difference ? "" : module},
                             static_cast<uint32_t>(frames_.size()));
      if (new_frame) frames_.push_back({name, module, KindOf(name, module)});
      const auto [known, new_place] =
          places.try_emplace({place.file, place.line, place.inlined},
                             static_cast<uint32_t>(places_.size()));
      if (new_place) places_.push_back(place);
      at_.push_back({frame->second, known->second});
    }
  }
  first_.push_back(at_.size());
}

}  // namespace unspool::exporters
