// Writes a large profile, already named: scale_profile STACKS SAMPLES OUT.
//
// Its stacks are those of a program that works: each keeps most of the one
// before, replaces some inner frames by others, and is 10 to 50 frames deep.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "exporters/export.h"

namespace unspool::exporters {
namespace {

constexpr uint32_t kFunctions = 20'000;
constexpr uint32_t kLinesPerFunction = 5;
constexpr int64_t kPeriodNs = 10'000'000;
constexpr uint64_t kTextStart = 0x400000;

Profile NewProfile() {
  Profile profile;
  const StringId cpu = profile.strings.Intern("cpu");
  const StringId nanoseconds = profile.strings.Intern("nanoseconds");
  profile.sample_types = {
      {profile.strings.Intern("samples"), profile.strings.Intern("count")},
      {cpu, nanoseconds}};
  profile.default_sample_type = cpu;
  profile.period_type = {cpu, nanoseconds};
  profile.period = kPeriodNs;
  profile.time_ns = 1'700'000'000'000'000'000;
  profile.duration_ns = 3600'000'000'000;
  return profile;
}

// Each function has a few lines, each of which is a location.
void AddCode(Profile& profile) {
  profile.mappings.push_back(
      {.memory_start = kTextStart,
       .memory_limit = kTextStart + 64 * kFunctions * kLinesPerFunction,
       .filename = profile.strings.Intern("/usr/bin/scale")});
  for (uint32_t f = 0; f < kFunctions; ++f) {
    const std::string number = std::to_string(f);
    profile.functions.push_back(
        {.name = profile.strings.Intern("scale::Class" + number +
                                        "::Member(std::string const&, int)"),
         .filename = profile.strings.Intern("/src/file" +
                                            std::to_string(f % 700) + ".cc"),
         .start_line = f});
    for (uint32_t line = 0; line < kLinesPerFunction; ++line) {
      Location location = {
          .address = kTextStart + 64 * (f * kLinesPerFunction + line),
          .mapping = 0};
      profile.SetLines(location, std::vector<Line>{{f, int64_t{f} + line}});
      profile.locations.push_back(location);
    }
  }
  profile.UpdateMappingFlags();
}

int Main(uint64_t stacks, uint64_t samples, const std::string& path) {
  Profile profile = NewProfile();
  AddCode(profile);
  std::mt19937_64 random(1);
  std::vector<uint32_t> outer_first;
  std::vector<uint32_t> stack;
  for (uint64_t i = 0; i < stacks; ++i) {
    const size_t depth = 10 + random() % 41;
    const size_t kept =
        outer_first.size() - random() % 8 % (outer_first.size() + 1);
    outer_first.resize(std::min(kept, depth - 1));
    while (outer_first.size() < depth) {
      outer_first.push_back(random() % profile.locations.size());
    }
    stack.assign(outer_first.rbegin(), outer_first.rend());
    const auto count =
        static_cast<int64_t>(samples / stacks + (i < samples % stacks ? 1 : 0));
    profile.AddSample(stack, std::vector<int64_t>{count, count * kPeriodNs},
                      {});
  }
  const absl::Status status = WritePprof(profile, path);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace unspool::exporters

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: scale_profile STACKS SAMPLES OUT\n");
    return 2;
  }
  return unspool::exporters::Main(std::strtoull(argv[1], nullptr, 10),
                                  std::strtoull(argv[2], nullptr, 10), argv[3]);
}
