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

std::string FunctionName(const Profile& profile, const Location& location,
                         const Function& function) {
  const std::string_view name = profile.strings[function.name];
  return name.empty() ? ModuleName(profile, location) : std::string(name);
}

// " file.c:12", or "".
std::string PlaceText(const Profile& profile, const Function& function,
                      int64_t line) {
  if (function.filename == 0) return "";
  // As pprof has it: "./a/../b.c" is b.c.
  const std::filesystem::path file(profile.strings[function.filename]);
  std::string text = " " + file.lexically_normal().string();
  if (line != 0) text += ":" + std::to_string(line);
  return text;
}

}  // namespace

FrameNames::FrameNames(const Profile& profile, Granularity granularity) {
  first_frame_.reserve(profile.locations.size() + 1);
  for (const Location& location : profile.locations) {
    first_frame_.push_back(frames_.size());
    for (const Line& line : profile.lines(location)) {
      const Function& function = profile.functions[line.function];
      std::string name = FunctionName(profile, location, function);
      const size_t size = name.size();
      if (granularity == Granularity::kLines) {
        name += PlaceText(profile, function, line.line);
      }
      frames_.push_back(Intern(name, size));
    }
    if (location.line_count == 0) {
      const std::string name = ModuleName(profile, location);
      frames_.push_back(Intern(name, name.size()));
    }
  }
  first_frame_.push_back(frames_.size());
}

uint32_t FrameNames::Intern(const std::string& name, size_t function_size) {
  const uint32_t number = names_.Intern(name);
  function_size_.resize(names_.size());
  if (number + 1 == names_.size()) function_size_[number] = function_size;
  return number;
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
