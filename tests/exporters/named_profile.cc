#include "tests/exporters/named_profile.h"

#include "exporters/frame_names.h"

namespace unspool::exporters {
namespace {

std::vector<std::string> Split(std::string_view text,
                               std::string_view separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + separator.size());
  }
  return parts;
}

}  // namespace

Profile NewCpuProfile() {
  Profile profile;
  const StringId cpu = profile.strings.Intern("cpu");
  const StringId nanoseconds = profile.strings.Intern("nanoseconds");
  profile.sample_types = {
      {profile.strings.Intern("samples"), profile.strings.Intern("count")},
      {cpu, nanoseconds}};
  profile.default_sample_type = cpu;
  profile.period_type = {cpu, nanoseconds};
  profile.period = 10'000'000;
  profile.time_ns = 1'700'000'000'123'456'789;
  profile.duration_ns = 2'500'000'000;
  return profile;
}

std::vector<std::string> FrameTexts(const Profile& profile, uint32_t location) {
  std::vector<std::string> texts;
  for (const Line& line : profile.lines(profile.locations[location])) {
    const Function& function = profile.functions[line.function];
    texts.push_back(std::string(profile.strings[function.name]) + " " +
                    std::string(BaseName(profile.strings[function.filename])) +
                    ":" + std::to_string(line.line));
  }
  return texts;
}

NamedProfile::NamedProfile() : profile_(NewCpuProfile()) {
  profile_.mappings.push_back({.memory_start = 0x400000,
                               .memory_limit = 0x500000,
                               .filename = profile_.strings.Intern("/bin/app"),
                               .has_functions = true});
}

void NamedProfile::Add(std::string_view stack, int64_t samples,
                       int64_t cpu_ns) {
  std::vector<uint32_t> locations;
  for (const std::string& frame : Split(stack, " < ")) {
    locations.push_back(LocationOf(frame));
  }
  profile_.AddSample(locations, std::vector<int64_t>{samples, cpu_ns}, {});
}

uint32_t NamedProfile::LocationOf(const std::string& frame) {
  const auto [entry, is_new] = locations_.try_emplace(
      frame, static_cast<uint32_t>(profile_.locations.size()));
  if (!is_new) return entry->second;
  Location location = {.address = 0x400000 + 16 * entry->second, .mapping = 0};
  std::vector<Line> lines;
  if (!frame.starts_with('@')) {
    for (const std::string& name : Split(frame, "|")) {
      lines.push_back({FunctionOf(name), 0});
    }
  } else if (frame == "@") {
    location.mapping = kNoIndex;
  } else {
    location.mapping = static_cast<uint32_t>(profile_.mappings.size());
    profile_.mappings.push_back(
        {.filename = profile_.strings.Intern(frame.substr(1))});
  }
  profile_.SetLines(location, lines);
  profile_.locations.push_back(location);
  return entry->second;
}

uint32_t NamedProfile::FunctionOf(const std::string& name) {
  const auto [entry, is_new] = functions_.try_emplace(
      name, static_cast<uint32_t>(profile_.functions.size()));
  if (is_new)
    profile_.functions.push_back({.name = profile_.strings.Intern(name)});
  return entry->second;
}

}  // namespace unspool::exporters
