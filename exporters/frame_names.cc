#include "exporters/frame_names.h"

namespace unspool::exporters {
namespace {

// The name of a frame without a function.
std::string ModuleName(const Profile& profile, const Location& location) {
  if (location.mapping == kNoIndex) return "<unknown>";
  const std::string_view path =
      profile.strings[profile.mappings[location.mapping].filename];
  if (path.empty()) return "<unknown>";
  return "[" + std::string(BaseName(path)) + "]";
}

}  // namespace

FrameNames::FrameNames(const Profile& profile) {
  first_frame_.reserve(profile.locations.size() + 1);
  for (const Location& location : profile.locations) {
    first_frame_.push_back(frames_.size());
    for (const Line& line : profile.lines(location)) {
      const std::string_view name =
          profile.strings[profile.functions[line.function].name];
      frames_.push_back(name.empty()
                            ? names_.Intern(ModuleName(profile, location))
                            : names_.Intern(name));
    }
    if (location.line_count == 0) {
      frames_.push_back(names_.Intern(ModuleName(profile, location)));
    }
  }
  first_frame_.push_back(frames_.size());
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

}  // namespace unspool::exporters
