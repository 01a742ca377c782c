// What is added is found again on whatever level of its table it is.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/collectors/spool/spool_writer_fixture.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using unwind::Frame;
using unwind::WalkEnd;

class LevelTest : public SpoolWriterTest {};

// Old callers with new callees, and new ones with new ones, while the index
// grows twice; then all of them anew, in another order.
TEST_F(LevelTest, NodesAreFoundAgainOnEveryLevelOfTheIndex) {
  constexpr uint64_t kStacks = 300'000;
  const auto add = [&](uint64_t i) {
    const Frame frames[] = {{i, unwind::kNoModule, true, false},
                            {i / 3, unwind::kNoModule, false, false},
                            {i % 7, unwind::kNoModule, false, false}};
    return writer_.AddStack(frames, WalkEnd::kRoot);
  };
  std::vector<NodeId> ids;
  for (uint64_t i = 0; i < kStacks; ++i) ids.push_back(add(i));
  for (uint64_t i = kStacks; i-- > 0;) ASSERT_EQ(add(i), ids[i]) << i;
  std::ranges::sort(ids);
  EXPECT_NE(ids.front(), 0u);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

// A thread's newest stack tells which others have no counter of its yet: also
// where stacks come that others had added before, and other kinds of sample.
TEST_F(LevelTest, OldStacksOfOthersAreCountedOnceEach) {
  constexpr uint64_t kStacks = 3000;
  std::vector<NodeId> ids;
  for (uint64_t i = 0; i < kStacks; ++i) {
    const Frame frame = {i, unwind::kNoModule, true, false};
    ids.push_back(writer_.AddStack({&frame, 1}, WalkEnd::kRoot));
  }
  // The newest first, then up and down.
  ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, ids.back(), 1));
  for (uint64_t i = 0; i < kStacks; ++i) {
    ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, ids[i], 1));
    ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kOffCpu, ids[i], 2));
  }
  for (uint64_t i = kStacks; i-- > 0;) {
    ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, ids[i], 1));
  }
  const auto samples = ReadSamples(Read(), 0)[4712];
  EXPECT_EQ(samples.size(), 2 * kStacks);
  for (const ReadSample& sample : samples) {
    const bool is_last = sample.offsets[0] == kStacks - 1;
    const uint64_t counts = is_last ? 3 : 2;
    const bool is_cpu = sample.weight == sample.count;
    EXPECT_EQ(sample.count, is_cpu ? counts : 1) << sample.offsets[0];
  }
}

}  // namespace
}  // namespace unspool::collectors
