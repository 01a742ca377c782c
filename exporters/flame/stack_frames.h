// The frames of a profile as flame graphs tell them apart: by name and module,
// in a difference by name alone (the two programs may be called differently).
// Where in its function a frame was is a place: file, line, inlined or not.

#ifndef UNSPOOL_EXPORTERS_FLAME_STACK_FRAMES_H_
#define UNSPOOL_EXPORTERS_FLAME_STACK_FRAMES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exporters/frame_names.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// The numbers are those of the page's data (README.md).
enum class FrameKind : uint8_t {
  kCode = 0,
  kKernel = 1,
  kTruncated = 2,  // "[truncated: …]"
  kMissing = 3,    // time without a stack: "[lost: …]", "[unsampled]", …
  kFolded = 4,     // frames too small to be kept
};

// Built once, then const: any number of threads may read it. Views point into
// the profile and into this object.
class StackFrames {
 public:
  struct Frame {
    std::string_view name;
    std::string_view module;  // base name of the file; may be ""
    FrameKind kind = FrameKind::kCode;
  };
  struct Place {
    std::string_view file;  // may be ""
    int64_t line = 0;       // 0: unknown
    bool inlined = false;   // into the frame below
    bool operator==(const Place&) const = default;
  };
  struct At {
    uint32_t frame;
    uint32_t place;
  };

  // Frame 0 is that of folded frames.
  static constexpr uint32_t kFolded = 0;

  // The profile has to outlive this object.
  // Not async-signal-safe: allocates.
  StackFrames(const Profile& profile, bool is_difference);

  // Innermost first, at least one. Precondition: `location` indexes the
  // profile's locations.
  std::span<const At> at(uint32_t location) const {
    return std::span(at_).subspan(first_[location],
                                  first_[location + 1] - first_[location]);
  }

  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<Place>& places() const { return places_; }

 private:
  FrameNames names_;
  std::vector<Frame> frames_;
  std::vector<Place> places_;
  std::vector<uint64_t> first_;  // in at_, by location, and the end
  std::vector<At> at_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_STACK_FRAMES_H_
