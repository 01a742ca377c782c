// A thread's last path spares look-ups, and changes no node.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/collectors/spool/spool_writer_fixture.h"

namespace unspool::collectors {
namespace {

using unwind::Frame;
using unwind::WalkEnd;

class StackPathTest : public SpoolWriterTest {
 protected:
  static constexpr size_t kDepth = 40;

  // One of few functions, so that stacks are often alike.
  static Frame AFrame(uint64_t number) {
    return {kAppBias + 0x30 + number % 3, kApp, number % 7 == 0,
            number % 11 == 0};
  }
  static size_t CountSame(const std::vector<Frame>& a,
                          const std::vector<Frame>& b) {
    size_t same = 0;
    while (same < a.size() && same < b.size() &&
           a[a.size() - 1 - same].pc == b[b.size() - 1 - same].pc &&
           a[a.size() - 1 - same].exact == b[b.size() - 1 - same].exact &&
           a[a.size() - 1 - same].guessed == b[b.size() - 1 - same].guessed) {
      ++same;
    }
    return same;
  }

  std::array<PathNode, kDepth> nodes_{};
  StackPath path_ = {nodes_};
};

TEST_F(StackPathTest, GivesTheNodesThatAreGivenWithoutIt) {
  std::mt19937_64 random(20240229);
  std::vector<Frame> frames;
  std::vector<Frame> last;
  WalkEnd end = WalkEnd::kRoot;
  WalkEnd last_end = end;
  for (int i = 0; i < 20'000; ++i) {
    // From the leaf on another, longer or shorter; at times all is another.
    const size_t kept = random() % 50 == 0 ? 0 : random() % (frames.size() + 1);
    frames.erase(frames.begin(), frames.end() - static_cast<ptrdiff_t>(kept));
    while (frames.size() < kDepth && random() % 5 != 0) {
      frames.insert(frames.begin(), AFrame(random()));
    }
    if (random() % 20 == 0) end = static_cast<WalkEnd>(random() % 3);
    // Often less is known than is so.
    const size_t same = end == last_end ? CountSame(frames, last) : 0;
    const NodeId node =
        writer_.AddStack(frames, end, path_, random() % (same + 1));
    ASSERT_EQ(node, writer_.AddStack(frames, end));
    ASSERT_EQ(path_.count, frames.size());
    last = frames;
    last_end = end;
  }
}

TEST_F(StackPathTest, WhereThereWasNoRoomThereMayBeNow) {
  const std::vector<Frame> frames = {AFrame(1), AFrame(2), AFrame(3)};
  const NodeId stack = writer_.AddStack(frames, WalkEnd::kRoot, path_, 0);
  EXPECT_NE(stack, 0u);
  nodes_[1].id = nodes_[2].id = 0;
  EXPECT_EQ(writer_.AddStack(frames, WalkEnd::kRoot, path_, 3), stack);
  EXPECT_EQ(nodes_[2].id, stack);
}

}  // namespace
}  // namespace unspool::collectors
