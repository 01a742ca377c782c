// Where things lie: images of one spool apart, bytes as FORMAT.md says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/spool_writer_fixture.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using ::testing::ElementsAre;
using unwind::Frame;
using unwind::WalkEnd;

TEST_F(SpoolWriterTest, ImagesOfOneSpoolStayApart) {
  ASSERT_TRUE(
      Sample({{0x77, unwind::kNoModule, true, false}}, WalkEnd::kRoot, 1));
  // As an exec'ed program does, which finds the same file.
  SpoolWriter second;
  ASSERT_EQ(second.Open(spool_.fd(), TestImage(4999)), SpoolStatus::kOk);
  ThreadLog log;
  second.AddThread(log, 4999, "second");
  const std::vector<Frame> frames = {{0x88, unwind::kNoModule, true, false}};
  ASSERT_TRUE(second.AddSample(log, SampleKind::kCpu,
                               second.AddStack(frames, WalkEnd::kDepth), 2));
  second.Close();
  const SpoolReader& reader = Read();
  ASSERT_EQ(reader.image_count(), 2u);
  EXPECT_EQ(reader.image(0).pid, 4711);
  EXPECT_EQ(reader.image(1).pid, 4999);
  EXPECT_EQ(reader.image(1).index, 1u);
  const uint32_t root = RootNode(WalkEnd::kRoot);
  const uint32_t depth = RootNode(WalkEnd::kDepth);
  EXPECT_THAT(ReadSamples(reader, 0)[4712],
              ElementsAre(ReadSample{{0x77}, root, 1, 1}));
  EXPECT_THAT(ReadSamples(reader, 1)[4999],
              ElementsAre(ReadSample{{0x88}, depth, 1, 2}));
}

TEST_F(SpoolWriterTest, BytesAreThoseOfTheFile) {
  ASSERT_TRUE(
      Sample({{0x77, unwind::kNoModule, true, false}}, WalkEnd::kRoot, 9));
  SpoolReader reader;
  ASSERT_EQ(reader.Open(writer_.bytes()), SpoolStatus::kOk);
  EXPECT_THAT(ReadSamples(reader, 0)[4712],
              ElementsAre(ReadSample{{0x77}, RootNode(WalkEnd::kRoot), 1, 9}));
}

// FORMAT.md's numbers, looked up by hand in a small recording.
TEST_F(SpoolWriterTest, BytesAreWhereTheFormatSays) {
  ASSERT_TRUE(
      Sample({{kLibBias + 0x1234, kLib, true, false}}, WalkEnd::kRoot, 0x55));
  const std::vector<uint8_t> bytes = spool_.Bytes();
  const auto u16 = [&](size_t at) {
    return bytes[at] | uint32_t{bytes[at + 1]} << 8;
  };
  const auto u32 = [&](size_t at) {
    return u16(at) | uint32_t{u16(at + 2)} << 16;
  };
  const auto u64 = [&](size_t at) {
    return u32(at) | uint64_t{u32(at + 4)} << 32;
  };
  EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), "UNSPOOL1");
  EXPECT_EQ(u32(8), 1u);                     // version
  EXPECT_EQ(u32(12), 32u);                   // header size
  EXPECT_EQ(u64(16), kTestCapacity / 4096);  // capacity
  EXPECT_EQ(u64(24), bytes.size() / 4096);   // next free page
  EXPECT_EQ(u32(4096), 1u);                  // sampling
  EXPECT_EQ(u32(4100), 1u);                  // next image
  // image, modules, nodes, thread
  const struct {
    size_t page, type, pages;
  } kChunks[] = {{2, 1, 1}, {3, 2, 1}, {4, 3, 1}, {5, 4, 1}};
  for (const auto& chunk : kChunks) {
    const size_t at = chunk.page * 4096;
    EXPECT_EQ(std::string(&bytes[at], &bytes[at + 4]), "CHNK");
    EXPECT_EQ(u16(at + 4), chunk.type);
    EXPECT_EQ(u32(at + 8), 0u);  // image
    EXPECT_EQ(u32(at + 12), chunk.pages);
    EXPECT_EQ(u64(at + 16), at);
  }
  EXPECT_EQ(bytes.size(), 6u * 4096);
  const size_t node = 4 * 4096 + 32;
  EXPECT_EQ(u32(node), 1u);                 // parent: reached the root
  EXPECT_EQ(u32(node + 4), 7u | 1u << 24);  // module, exact
  EXPECT_EQ(u64(node + 8), 0x1234u);        // offset
  EXPECT_EQ(u32(5 * 4096 + 32), 4712u);     // tid
  size_t slot = 5 * 4096 + 192;
  while (slot < bytes.size() && u32(slot) == 0) slot += 32;
  ASSERT_LT(slot, bytes.size());
  EXPECT_EQ(u32(slot), 16u);  // the first node
  EXPECT_EQ(u16(slot + 4), 1u);
  EXPECT_EQ(u64(slot + 16), 1u);
  EXPECT_EQ(u64(slot + 24), 0x55u);
}

}  // namespace
}  // namespace unspool::collectors
