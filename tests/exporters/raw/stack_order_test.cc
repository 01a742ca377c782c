// Stacks are written in another order than they were recorded in, and frames
// that they share are encoded once: each must come out as it went in.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::TestImage;
using unwind::Frame;
using unwind::WalkEnd;

std::string AddressText(const Frame& frame) {
  char text[32];
  snprintf(
      text, sizeof(text), "+0x%llx",
      static_cast<unsigned long long>(unwind::LookupPc(frame.pc, frame.exact)));
  return std::string("[unknown]") + text;
}

// One of few functions at each depth, so that stacks share outer frames.
std::vector<Frame> RandomStack(std::mt19937_64& random) {
  std::vector<Frame> frames(1 + random() % 60);
  for (size_t i = 0; i < frames.size(); ++i) {
    const size_t depth = frames.size() - i;
    const uint64_t choices = depth % 4 == 0 ? 4 : 1;
    frames[i] = {.pc = depth << 16 | (1 + random() % choices) << 4,
                 .module = unwind::kNoModule,
                 .exact = i == 0};
  }
  return frames;
}

TEST(StackOrder, EachStackIsWrittenAsItWasRecorded) {
  std::mt19937_64 random(1);
  Recording recording;
  std::map<std::string, std::vector<int64_t>> expected;
  std::set<std::string> distinct;
  for (int image = 0; image < 2; ++image) {
    recording.BeginImage(TestImage());
    for (int thread = 0; thread < 3; ++thread) {
      auto& log = recording.AddThread(100 + thread, "thread");
      for (int i = 0; i < 2000; ++i) {
        const std::vector<Frame> frames = RandomStack(random);
        const auto end = i % 10 == 0 ? WalkEnd::kLoop : WalkEnd::kRoot;
        std::string text;
        for (const Frame& frame : frames) {
          if (!text.empty()) text += ';';
          text += AddressText(frame);
        }
        if (end == WalkEnd::kLoop) text += ";[truncated: loop]";
        const int64_t weight = 1 + static_cast<int64_t>(random() % 100);
        recording.Sample(log, frames, end, static_cast<uint64_t>(weight));
        auto& values = expected[text];
        values.resize(2);
        values[0] += 1;
        values[1] += weight;
        distinct.insert(text);
      }
    }
  }
  recording.EndImage();
  const WrittenProfile written(recording.Bytes());
  ExpectValid(written);
  ASSERT_GT(distinct.size(), 4000u);
  EXPECT_EQ(written.Stacks(), expected);
  EXPECT_EQ(written.totals().truncated, 1200u);
}

TEST(StackOrder, NeighboursShareTheirOuterFrames) {
  // Four families that take turns; in the profile each is in one piece.
  Recording recording;
  recording.BeginImage(TestImage());
  auto& log = recording.AddThread(1, "thread");
  for (uint64_t i = 0; i < 400; ++i) {
    const uint64_t family = i % 4;
    recording.Sample(log,
                     {{0x1000 + i * 16, unwind::kNoModule, true},
                      {0x100000 + family * 16, unwind::kNoModule},
                      {0x200000, unwind::kNoModule}},
                     WalkEnd::kRoot, 1);
  }
  recording.EndImage();
  const WrittenProfile written(recording.Bytes());
  size_t changes = 0;
  std::string last;
  for (const auto& sample : written.proto().sample()) {
    ASSERT_EQ(sample.location_id_size(), 3);
    const std::string family = written.Frame(sample.location_id(1));
    if (family != last) ++changes;
    last = family;
  }
  EXPECT_EQ(changes, 4u);
}

}  // namespace
}  // namespace unspool::exporters
