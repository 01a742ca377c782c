// The reader against spools that lie. One good recording, and what becomes of
// it when a field, a page or random bytes of it are changed.

#include "collectors/spool/spool_reader.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>

#include "tests/collectors/spool/drain.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using unwind::Frame;
using unwind::WalkEnd;

// Where the good recording has what (FORMAT.md): image, modules, nodes, thread,
// four pages of its further counters.
constexpr size_t kImageChunk = 2 * kSpoolPageSize;
constexpr size_t kModulesChunk = 3 * kSpoolPageSize;
constexpr size_t kNodesChunk = 4 * kSpoolPageSize;
constexpr size_t kThreadChunk = 5 * kSpoolPageSize;
constexpr size_t kCountersChunk = 6 * kSpoolPageSize;
constexpr size_t kImage = kImageChunk + sizeof(ChunkHeader);
constexpr size_t kModule = kModulesChunk + sizeof(ChunkHeader);
constexpr size_t kNode = kNodesChunk + sizeof(ChunkHeader);
constexpr size_t kStacks = 200;  // more than the thread's own page holds

std::vector<uint8_t> GoodSpool() {
  TestSpool spool;
  SpoolWriter writer;
  EXPECT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  EXPECT_TRUE(
      writer.AddModule(0, TestModule(0x10000, 0x9000, 1, "/usr/bin/app")));
  ThreadLog log;
  writer.AddThread(log, 4711, "app");
  for (uint64_t i = 0; i < kStacks; ++i) {
    const std::vector<Frame> frames = {{0x11000 + i, 0, true, false},
                                       {0x12000, 0, false, false}};
    const NodeId stack = writer.AddStack(frames, WalkEnd::kRoot);
    EXPECT_TRUE(writer.AddSample(log, SampleKind::kCpu, stack, 10));
  }
  writer.Close();
  return spool.Bytes();
}

template <typename T>
void Put(std::vector<uint8_t>& bytes, size_t offset, T value) {
  ASSERT_LE(offset + sizeof(value), bytes.size());
  memcpy(bytes.data() + offset, &value, sizeof(value));
}

TEST(SpoolReader, GoodSpoolIsReadWhole) {
  const Drained all = Drain(GoodSpool());
  EXPECT_EQ(all.status, SpoolStatus::kOk);
  EXPECT_EQ(all.images, 1u);
  EXPECT_EQ(all.modules, 1u);
  EXPECT_EQ(all.threads, 1u);
  EXPECT_EQ(all.counters, kStacks);
  EXPECT_EQ(all.whole_stacks, kStacks);
}

// How many of the counters are in the thread's own page.
size_t CountersOnOwnPage(std::span<const uint8_t> bytes) {
  size_t count = 0;
  for (size_t at = kThreadChunk + kThreadSlotsOffset; at < kCountersChunk;
       at += sizeof(CounterSlot)) {
    uint32_t node;
    memcpy(&node, &bytes[at], sizeof(node));
    count += node != 0;
  }
  return count;
}

struct StatusRow {
  const char* name;
  size_t offset;
  uint64_t value;
  SpoolStatus expected;
};

TEST(SpoolReader, HeaderThatIsNotOursHasAStatus) {
  const StatusRow kRows[] = {
      {"magic", offsetof(SpoolHeader, magic), 0x314c4f4f50534e56,
       SpoolStatus::kNotASpool},
      {"gzip", offsetof(SpoolHeader, magic), 0x8b1f, SpoolStatus::kNotASpool},
      {"version", offsetof(SpoolHeader, version), 2 | uint64_t{32} << 32,
       SpoolStatus::kWrongVersion},
      {"header size", offsetof(SpoolHeader, version), 1 | uint64_t{40} << 32,
       SpoolStatus::kWrongVersion},
      {"nothing handed out", offsetof(SpoolHeader, next_free_page), 0,
       SpoolStatus::kCorrupt},
      {"image without chunk", kImageChunk, 0, SpoolStatus::kCorrupt},
      {"everything handed out", offsetof(SpoolHeader, next_free_page),
       ~uint64_t{0}, SpoolStatus::kOk},
      {"no capacity", offsetof(SpoolHeader, capacity_pages), 0,
       SpoolStatus::kOk},
  };
  for (const StatusRow& row : kRows) {
    std::vector<uint8_t> bytes = GoodSpool();
    Put(bytes, row.offset, row.value);
    const Drained all = Drain(bytes);
    EXPECT_EQ(all.status, row.expected) << row.name;
    if (row.expected == SpoolStatus::kOk) {
      EXPECT_EQ(all.whole_stacks, kStacks) << row.name;
    }
  }
}

// What is left when one 32-bit word is another.
TEST(SpoolReader, WordThatMakesNoSenseCostsOnlyItsOwnPart) {
  constexpr uint32_t kMany = 0x7fffffff;
  // The first node is the caller of all others; the second is one leaf.
  constexpr size_t kLeaf = kNode + sizeof(StackNode);
  const size_t own_page = CountersOnOwnPage(GoodSpool());
  ASSERT_LT(own_page, kStacks);
  const struct {
    const char* name;
    size_t offset;
    uint32_t value;
    size_t modules, threads, counters, whole_stacks;
  } kRows[] = {
      {"modules: pages 0", kModulesChunk + offsetof(ChunkHeader, pages), 0, 0,
       1, kStacks, kStacks},
      {"modules: offset", kModulesChunk + offsetof(ChunkHeader, offset), 0, 0,
       1, kStacks, kStacks},
      {"modules: other image", kModulesChunk + offsetof(ChunkHeader, image), 9,
       0, 1, kStacks, kStacks},
      {"modules: type to come", kModulesChunk + offsetof(ChunkHeader, type), 77,
       0, 1, kStacks, kStacks},
      {"nodes: too many pages", kNodesChunk + offsetof(ChunkHeader, pages),
       kMany, 1, 1, kStacks, 0},
      {"nodes: no pages", kNodesChunk + offsetof(ChunkHeader, pages), 0, 1, 1,
       kStacks, 0},
      {"nodes: other number", kNodesChunk + offsetof(ChunkHeader, owner), 1, 1,
       1, kStacks, 0},
      {"thread: no magic", kThreadChunk, 0, 1, 0, 0, 0},
      {"counters: no magic", kCountersChunk, 0, 1, 1, own_page, own_page},
      {"counters: other owner", kCountersChunk + offsetof(ChunkHeader, owner),
       4096, 1, 1, own_page, own_page},
      {"module: size too large", kModule + offsetof(ModuleRecord, size), 8192,
       0, 1, kStacks, kStacks},
      {"module: size too small", kModule + offsetof(ModuleRecord, size), 32, 0,
       1, kStacks, kStacks},
      {"module: odd size", kModule + offsetof(ModuleRecord, size), 129, 0, 1,
       kStacks, kStacks},
      {"module: id", kModule + offsetof(ModuleRecord, id), kMaxModules, 0, 1,
       kStacks, kStacks},
      {"module: segments", kModule + offsetof(ModuleRecord, segment_count), 9,
       0, 1, kStacks, kStacks},
      {"module: build id", kModule + offsetof(ModuleRecord, segment_count),
       1 | 33 << 8, 0, 1, kStacks, kStacks},
      {"module: path", kModule + offsetof(ModuleRecord, flags),
       uint32_t{4000} << 16, 0, 1, kStacks, kStacks},
      {"node: incomplete", kLeaf, 0, 1, 1, kStacks, kStacks - 1},
      {"node: its own parent", kLeaf, kFirstNode + 1, 1, 1, kStacks,
       kStacks - 1},
      {"node: later parent", kLeaf, kFirstNode + 2, 1, 1, kStacks, kStacks - 1},
      {"node: parent of all", kNode, kMany, 1, 1, kStacks, 0},
      {"image: text offset", kImage + offsetof(ImageRecord, engine), kMany, 1,
       1, kStacks, kStacks},
      {"image: text size", kImage + offsetof(ImageRecord, engine) + 4, kMany, 1,
       1, kStacks, kStacks},
  };
  for (const auto& row : kRows) {
    std::vector<uint8_t> bytes = GoodSpool();
    Put(bytes, row.offset, row.value);
    const Drained all = Drain(bytes);
    EXPECT_EQ(all.status, SpoolStatus::kOk) << row.name;
    EXPECT_EQ(all.modules, row.modules) << row.name;
    EXPECT_EQ(all.threads, row.threads) << row.name;
    EXPECT_EQ(all.counters, row.counters) << row.name;
    EXPECT_EQ(all.whole_stacks, row.whole_stacks) << row.name;
  }
}

TEST(SpoolReader, TextOutsideItsChunkIsEmpty) {
  std::vector<uint8_t> bytes = GoodSpool();
  Put(bytes, kImage + offsetof(ImageRecord, engine), uint32_t{4090});
  Put(bytes, kImage + offsetof(ImageRecord, engine) + 4, uint32_t{7});
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_TRUE(reader.image(0).engine.empty());
  EXPECT_EQ(ToString(reader.image(0).executable), "/usr/bin/app");
}

TEST(SpoolReader, ClockIsWhatTheImageSays) {
  for (const SampleClock clock : {SampleClock::kCpu, SampleClock::kWall}) {
    TestSpool spool;
    SpoolWriter writer;
    ImageInfo info = TestImage();
    info.clock = clock;
    ASSERT_EQ(writer.Open(spool.fd(), info), SpoolStatus::kOk);
    writer.Close();
    const std::vector<uint8_t> bytes = spool.Bytes();
    SpoolReader reader;
    ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    EXPECT_EQ(reader.image(0).clock, clock);
  }
}

TEST(SpoolReader, UnknownClockIsCpuAndANameWithoutEndIsCut) {
  std::vector<uint8_t> bytes = GoodSpool();
  Put(bytes, kImage + offsetof(ImageRecord, clock), uint32_t{3});
  for (size_t i = 0; i < sizeof(ImageRecord::comm); ++i) {
    Put(bytes, kImage + offsetof(ImageRecord, comm) + i, char{'x'});
  }
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_EQ(reader.image(0).clock, SampleClock::kCpu);
  EXPECT_EQ(std::string(reader.image(0).comm.data()), std::string(15, 'x'));
}

TEST(SpoolReader, SecondChunkOfANumberIsIgnored) {
  std::vector<uint8_t> bytes = GoodSpool();
  // A copy of the nodes, with other contents, behind everything.
  const size_t copy = bytes.size();
  bytes.insert(bytes.end(), bytes.begin() + kNodesChunk,
               bytes.begin() + kThreadChunk);
  Put(bytes, copy + offsetof(ChunkHeader, offset), uint64_t{copy});
  Put(bytes, copy + sizeof(ChunkHeader) + offsetof(StackNode, offset),
      uint64_t{0xbad});
  Put(bytes, offsetof(SpoolHeader, next_free_page),
      uint64_t{bytes.size() / kSpoolPageSize});
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  NodeView node;
  ASSERT_TRUE(reader.NodeChunkOf(0, kFirstNode).Find(kFirstNode, &node));
  EXPECT_EQ(node.offset, 0x2000u);
}

TEST(SpoolReader, HoleOfADeadWriterIsSkipped) {
  std::vector<uint8_t> bytes = GoodSpool();
  const std::vector<uint8_t> hole(3 * kSpoolPageSize, 0);
  // Before the thread's chunk; what follows moves, and says so.
  bytes.insert(bytes.begin() + kThreadChunk, hole.begin(), hole.end());
  const size_t thread = kThreadChunk + hole.size();
  const size_t counters = kCountersChunk + hole.size();
  Put(bytes, thread + offsetof(ChunkHeader, offset), uint64_t{thread});
  Put(bytes, counters + offsetof(ChunkHeader, offset), uint64_t{counters});
  Put(bytes, counters + offsetof(ChunkHeader, owner), uint64_t{thread});
  Put(bytes, offsetof(SpoolHeader, next_free_page),
      uint64_t{bytes.size() / kSpoolPageSize});
  EXPECT_EQ(Drain(bytes).whole_stacks, kStacks);
}

TEST(SpoolReader, SpoolCutAnywhereGivesWhatIsLeft) {
  const std::vector<uint8_t> good = GoodSpool();
  size_t last = 0;
  for (size_t size = 0; size <= good.size(); size += kSpoolPageSize / 2) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + size);
    const Drained all = Drain(cut);
    const SpoolStatus expected =
        size < sizeof(SpoolHeader)            ? SpoolStatus::kNotASpool
        : size < kImageChunk + kSpoolPageSize ? SpoolStatus::kCorrupt
                                              : SpoolStatus::kOk;
    EXPECT_EQ(all.status, expected) << size;
    EXPECT_GE(all.whole_stacks, last) << size;
    last = all.whole_stacks;
  }
  EXPECT_EQ(last, kStacks);
}

TEST(SpoolReader, BytesThatAreNotAlignedAreRefused) {
  const std::vector<uint8_t> good = GoodSpool();
  std::vector<uint8_t> shifted(good.size() + 1);
  std::copy(good.begin(), good.end(), shifted.begin() + 1);
  EXPECT_EQ(Drain(std::span(shifted).subspan(1)).status, SpoolStatus::kCorrupt);
}

// Every byte of every header and record, one at a time.
TEST(SpoolReader, AnyByteMayBeAnything) {
  const std::vector<uint8_t> good = GoodSpool();
  std::vector<uint8_t> bytes = good;
  for (const size_t page : {0, 2, 3, 4, 8, 9}) {
    for (size_t i = 0; i < 320; ++i) {
      const size_t at = page * kSpoolPageSize + i;
      for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        bytes[at] = value;
        // A free slot may become one more.
        EXPECT_LE(Drain(bytes).whole_stacks, kStacks + 1);
      }
      bytes[at] = good[at];
    }
  }
}

TEST(SpoolReader, ManyBytesMayBeAnything) {
  const std::vector<uint8_t> good = GoodSpool();
  std::mt19937 random(20240229);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = good;
    const int changes = 1 + random() % 12;
    for (int i = 0; i < changes; ++i) {
      // Mostly near the start of a page, where the structure is.
      const size_t page = random() % (bytes.size() / kSpoolPageSize);
      const size_t range = random() % 4 == 0 ? kSpoolPageSize : 256;
      bytes[page * kSpoolPageSize + random() % range] = random();
    }
    Drain(bytes);
  }
}

}  // namespace
}  // namespace unspool::collectors
