#include "exporters/frame_names.h"

#include <filesystem>
#include <string>

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

std::string FrameName(const Profile& profile, const Location& location,
                      const Line& line, Granularity granularity) {
  const Function& function = profile.functions[line.function];
  std::string name(profile.strings[function.name]);
  if (name.empty()) name = ModuleName(profile, location);
  if (granularity == Granularity::kFunctions || function.filename == 0) {
    return name;
  }
  // As pprof has it: "./a/../b.c" is b.c.
  const std::filesystem::path file(profile.strings[function.filename]);
  name.append(" ").append(file.lexically_normal().string());
  if (line.line != 0) name += ":" + std::to_string(line.line);
  return name;
}

}  // namespace

FrameNames::FrameNames(const Profile& profile, Granularity granularity) {
  first_frame_.reserve(profile.locations.size() + 1);
  for (const Location& location : profile.locations) {
    first_frame_.push_back(frames_.size());
    for (const Line& line : profile.lines(location)) {
      frames_.push_back(
          names_.Intern(FrameName(profile, location, line, granularity)));
    }
    if (location.line_count == 0) {
      frames_.push_back(names_.Intern(ModuleName(profile, location)));
    }
  }
  first_frame_.push_back(frames_.size());
}

void FrameNames::CollectPath(const Sample& sample,
                             std::vector<uint32_t>* path) const {
  path->clear();
  for (size_t i = sample.locations.size(); i-- > 0;) {
    const std::span<const uint32_t> at = frames(sample.locations[i]);
    path->insert(path->end(), at.rbegin(), at.rend());
  }
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
