// What each frame of a profile is called in text: the function's name, or, for
// what has none, the file it lies in, as pprof shows it: "[libfoo.so]".

#ifndef UNSPOOL_EXPORTERS_FRAME_NAMES_H_
#define UNSPOOL_EXPORTERS_FRAME_NAMES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/profile.h"

namespace unspool::exporters {

enum class Granularity : uint8_t {
  kFunctions,  // "f", whatever files, lines or modules it comes from
  kLines,      // "f file.c:12", each line of a function for itself
};

// Frames of the same name are one number: that is how pprof groups. Built once,
// then const: any number of threads may read it. Refers to nothing of the
// profile afterwards.
class FrameNames {
 public:
  // Not async-signal-safe: allocates.
  explicit FrameNames(const Profile& profile,
                      Granularity granularity = Granularity::kFunctions);

  // The name numbers of the frames at a location, innermost first; at least
  // one. Precondition: `location` indexes the profile's locations.
  std::span<const uint32_t> frames(uint32_t location) const {
    return std::span(frames_).subspan(
        first_frame_[location],
        first_frame_[location + 1] - first_frame_[location]);
  }

  // The name numbers of a sample's frames, the outermost first, into *path.
  // Not async-signal-safe: allocates.
  void CollectPath(const Sample& sample, std::vector<uint32_t>* path) const;

  std::string_view name(uint32_t number) const { return names_[number]; }
  // The same without what Granularity::kLines adds.
  std::string_view function(uint32_t number) const {
    return names_[number].substr(0, function_size_[number]);
  }
  size_t size() const { return names_.size(); }

 private:
  uint32_t Intern(const std::string& name, size_t function_size);

  StringTable names_;
  std::vector<size_t> function_size_;  // by name; bytes
  std::vector<uint64_t> first_frame_;  // by location, and the end
  std::vector<uint32_t> frames_;
};

// The last component of a path. Never allocates.
std::string_view BaseName(std::string_view path);

// `text` with control characters replaced by '?': a profile is a stranger's
// file, and a terminal obeys escape sequences.
// Not async-signal-safe: allocates.
std::string Printable(std::string_view text);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FRAME_NAMES_H_
