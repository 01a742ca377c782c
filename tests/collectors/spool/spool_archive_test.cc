// Images that ended, condensed: they read as before, from fewer pages.

#include "collectors/spool/spool_archive.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/collectors/spool/drain.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using unwind::Frame;
using unwind::WalkEnd;

constexpr uint64_t kBias = 0x10000;
constexpr uint64_t kPeriodNs = 10'000'000;  // TestImage's

// (pid, tid, frames' offsets and flags to the root) → (samples, weight).
using Key = std::tuple<int32_t, int32_t, std::vector<uint64_t>>;
using Read = std::map<Key, std::pair<uint64_t, uint64_t>>;

uint64_t FrameOf(const NodeView& node) {
  return node.offset << 2 | node.exact << 1 | node.guessed;
}

std::vector<uint64_t> StackOf(const SpoolReader& reader, size_t image,
                              uint32_t id) {
  std::vector<uint64_t> stack;
  NodeView node;
  while (image == reader.archive()
             ? reader.FindArchivedNode(id, &node)
             : reader.NodeChunkOf(image, id).Find(id, &node)) {
    stack.push_back(FrameOf(node));
    id = node.parent;
  }
  stack.push_back(id < kFirstNode ? id : ~uint64_t{0});
  return stack;
}

Read ReadAll(std::span<const uint8_t> bytes,
             std::span<const PageRun> unused = {}) {
  SpoolReader reader;
  EXPECT_EQ(reader.Open(bytes, unused), SpoolStatus::kOk);
  Read read;
  const auto add = [&](const ImageView& image, const ThreadView& thread,
                       const std::vector<uint64_t>& stack,
                       const CounterView& counter) {
    auto& sum = read[{image.pid, thread.tid, stack}];
    sum.first += counter.count;
    sum.second += counter.weight;
  };
  for (size_t i = 0; i < reader.image_count(); ++i) {
    const ImageView image = reader.image(i);
    reader.ForEachThread(i, [&](const ThreadView& thread) {
      reader.ForEachCounter(i, thread, [&](const CounterView& counter) {
        add(image, thread, StackOf(reader, i, counter.stack), counter);
      });
    });
  }
  reader.ForEachArchived([&](const ArchivedView& image) {
    SpoolReader::ForEachArchivedThread(
        image, [&](const ThreadView& thread, ArchivedCounters counters) {
          ArchivedCounter next;
          while (counters.Next(&next)) {
            auto stack = StackOf(reader, reader.archive(), next.counter.stack);
            if (next.has_leaf) stack.insert(stack.begin(), FrameOf(next.leaf));
            add(image.facts, thread, stack, next.counter);
          }
        });
  });
  return read;
}

// An image that ends at once: two threads with `stacks` stacks each, most of
// them as in other images.
void Record(const TestSpool& spool, int32_t pid, uint64_t stacks = 200) {
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage(pid)), SpoolStatus::kOk);
  // Loaded elsewhere in each process.
  const uint64_t bias = kBias + static_cast<uint64_t>(pid) * 0x100000;
  ASSERT_TRUE(writer.AddModule(7, TestModule(bias, 0x9000, 1, "/lib/a.so")));
  ThreadLog logs[2];
  for (int32_t i = 0; i < 2; ++i) {
    writer.AddThread(logs[i], pid + i, "worker");
    for (uint64_t j = 0; j < stacks; ++j) {
      const std::vector<Frame> frames = {
          {bias + 0x1100 + j, 7, true, false},
          {bias + 0x1200 + j % 8, 7, false, j % 2 == 0},
          {static_cast<uint64_t>(pid), unwind::kNoModule, false, false}};
      const NodeId stack = writer.AddStack(
          frames, static_cast<WalkEnd>(j % unwind::kWalkEndCount));
      for (uint64_t k = 0; k <= j % 3; ++k) {
        ASSERT_TRUE(writer.AddSample(logs[i], SampleKind::kCpu, stack,
                                     kPeriodNs + j * 1000 - 50'000));
      }
    }
    writer.AddLoss(logs[i], LossCause::kBlocked, 77);
    writer.AddUnsampled(logs[i], 88);
  }
  writer.NoteEnd(123, 456);
  writer.Close();
}

// Condenses all images but the first. The pages that are theirs no more.
std::vector<PageRun> Condense(const TestSpool& spool, SpoolArchive& archive) {
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  EXPECT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  if (!archive.is_open()) {
    EXPECT_EQ(archive.Open(spool.fd()), SpoolStatus::kOk);
  }
  std::vector<PageRun> freed;
  for (size_t i = 1; i < reader.image_count(); ++i) {
    EXPECT_TRUE(archive.Add(reader, i));
    reader.ForEachChunk(i, [&](const PageRun& run) { freed.push_back(run); });
  }
  return freed;
}

std::vector<uint8_t> Without(std::vector<uint8_t> bytes,
                             const std::vector<PageRun>& freed) {
  for (const PageRun& run : freed) {
    std::fill_n(
        bytes.begin() + static_cast<ptrdiff_t>(run.first * kSpoolPageSize),
        run.pages * kSpoolPageSize, uint8_t{0});
  }
  return bytes;
}

TEST(SpoolArchive, ReadsAsBefore) {
  TestSpool spool;
  for (int32_t pid = 10; pid < 50; pid += 10) Record(spool, pid);
  const Read before = ReadAll(spool.Bytes());
  ASSERT_EQ(before.size(), 4 * 2 * 200u);
  SpoolArchive archive;
  const std::vector<PageRun> freed = Condense(spool, archive);
  // Whoever condensed may die before it gives the pages back.
  EXPECT_EQ(ReadAll(spool.Bytes()), before);
  EXPECT_EQ(ReadAll(Without(spool.Bytes(), freed)), before);
  std::vector<PageRun> unused = freed;
  std::sort(unused.begin(), unused.end(),
            [](auto a, auto b) { return a.first < b.first; });
  EXPECT_EQ(ReadAll(spool.Bytes(), unused), before);
}

TEST(SpoolArchive, KeepsFactsOfImagesAndThreads) {
  TestSpool spool;
  Record(spool, 10);
  Record(spool, 20);
  SpoolArchive archive;
  Condense(spool, archive);
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_EQ(reader.image_count(), 1u);
  int images = 0;
  int threads = 0;
  reader.ForEachArchived([&](const ArchivedView& image) {
    ++images;
    EXPECT_EQ(image.facts.index, 1u);
    EXPECT_EQ(image.facts.pid, 20);
    EXPECT_EQ(image.facts.pid_namespace, TestImage().pid_namespace);
    EXPECT_EQ(image.facts.start_realtime_ns, TestImage().start_realtime_ns);
    EXPECT_EQ(image.facts.start_monotonic_ns, TestImage().start_monotonic_ns);
    EXPECT_EQ(image.facts.period_ns, TestImage().period_ns);
    EXPECT_EQ(image.facts.end_monotonic_ns, 123u);
    EXPECT_EQ(image.facts.end_cpu_ns, 456u);
    EXPECT_STREQ(image.facts.comm.data(), "worker");  // its main thread's
    SpoolReader::ForEachArchivedThread(
        image, [&](const ThreadView& thread, ArchivedCounters) {
          EXPECT_EQ(thread.tid, 20 + threads++);
          EXPECT_STREQ(thread.name.data(), "worker");
          EXPECT_EQ(thread.unsampled_ns, 88u);
          const auto& lost =
              thread.losses[static_cast<size_t>(LossCause::kBlocked)];
          EXPECT_EQ(lost.count, 1u);
          EXPECT_EQ(lost.weight, 77u);
        });
  });
  EXPECT_EQ(images, 1);
  EXPECT_EQ(threads, 2);
}

// A node for each stack's leaf and each caller, once for all processes, but for
// what only one of them has; and a few bytes a stack.
TEST(SpoolArchive, ProcessesShareTheirStacks) {
  const auto size_of = [](int32_t images) {
    TestSpool spool;
    Record(spool, 1, 3000);
    for (int32_t i = 0; i < images; ++i) Record(spool, 10 + i, 3000);
    SpoolArchive archive;
    const size_t before = spool.Bytes().size();
    Condense(spool, archive);
    SpoolReader reader;
    const std::vector<uint8_t> bytes = spool.Bytes();
    EXPECT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    return bytes.size() - before;
  };
  const size_t one = size_of(2) - size_of(1);
  const size_t own = [] {
    TestSpool spool;
    Record(spool, 1, 3000);
    const size_t before = spool.Bytes().size();
    Record(spool, 2, 3000);
    return spool.Bytes().size() - before;
  }();
  EXPECT_LT(one * 4, own);
}

TEST(SpoolArchive, ModulesWithoutBuildIdAreApartByTheirPlace) {
  TestSpool spool;
  for (const uint64_t bias : {uint64_t{0x10000}, uint64_t{0x50000}}) {
    for (const int32_t pid : {1, 2, 3}) {
      SpoolWriter writer;
      ASSERT_EQ(writer.Open(spool.fd(), TestImage(pid)), SpoolStatus::kOk);
      unwind::Module module = TestModule(bias, 0x9000, 1, "/lib/b.so");
      module.build_id.size = 0;
      ASSERT_TRUE(writer.AddModule(0, module));
      ThreadLog log;
      writer.AddThread(log, pid, "a");
      const std::vector<Frame> frames = {{bias + 0x1100, 0, true, false}};
      ASSERT_TRUE(writer.AddSample(log, SampleKind::kCpu,
                                   writer.AddStack(frames, WalkEnd::kRoot),
                                   kPeriodNs));
      writer.Close();
    }
  }
  SpoolArchive archive;
  Condense(spool, archive);
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  ASSERT_NE(reader.archive(), SpoolReader::kNoImage);
  std::vector<uint64_t> biases;
  reader.ForEachModule(reader.archive(), [&](const ModuleView& module) {
    biases.push_back(module.bias);
    EXPECT_EQ(std::string(module.path.begin(), module.path.end()), "/lib/b.so");
  });
  std::sort(biases.begin(), biases.end());
  EXPECT_EQ(biases, (std::vector<uint64_t>{0x10000, 0x50000}));
}

void Fill(const TestSpool& spool) {
  ChunkAllocator chunks;
  ASSERT_EQ(chunks.Map(spool.fd(), AtFork::kUnmap), SpoolStatus::kOk);
  while (chunks.Allocate(1) != nullptr) {
  }
  chunks.Reset(/*unmap=*/true);
}

TEST(SpoolArchive, WithoutRoomAllIsAsBefore) {
  TestSpool spool(uint64_t{400} * kSpoolPageSize);
  Record(spool, 10);
  Record(spool, 20);
  const Read before = ReadAll(spool.Bytes());
  Fill(spool);
  SpoolArchive archive;
  ASSERT_EQ(archive.Open(spool.fd()), SpoolStatus::kOk);
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  for (size_t i = 0; i < 2; ++i) EXPECT_FALSE(archive.Add(reader, i));
  EXPECT_EQ(ReadAll(spool.Bytes()), before);
}

// What is taken at first is for then.
TEST(SpoolArchive, CondensesInASpoolThatIsFull) {
  TestSpool spool(uint64_t{400} * kSpoolPageSize);
  SpoolArchive archive;
  ASSERT_EQ(archive.Open(spool.fd()), SpoolStatus::kOk);
  Record(spool, 10, 20);
  Record(spool, 20, 20);
  const Read before = ReadAll(spool.Bytes());
  Fill(spool);
  const std::vector<PageRun> freed = Condense(spool, archive);
  EXPECT_GE(freed.size(), 4u);
  EXPECT_EQ(ReadAll(Without(spool.Bytes(), freed)), before);
}

// Every word of what condensing wrote, as if somebody had damaged it: nothing
// outside of the bytes is read, and it ends.
TEST(SpoolArchive, DamageEndsWithTheDamagedRecord) {
  TestSpool spool;
  for (const int32_t pid : {10, 20, 30}) Record(spool, pid, 20);
  SpoolArchive archive;
  const size_t begin = spool.Bytes().size();
  const std::vector<PageRun> freed = Condense(spool, archive);
  const std::vector<uint8_t> bytes = Without(spool.Bytes(), freed);
  ASSERT_GE(bytes.size(), begin + 3 * kSpoolPageSize);
  std::vector<uint8_t> damaged = bytes;
  size_t words = 0;
  for (size_t at = begin; at + 4 <= bytes.size(); at += 4) {
    uint32_t good;
    memcpy(&good, &bytes[at], sizeof(good));
    if (good == 0) continue;
    ++words;
    for (const uint32_t value : {0u, 0x7fffffffu, 0xffffffffu}) {
      memcpy(&damaged[at], &value, sizeof(value));
      Drain(damaged);
    }
    memcpy(&damaged[at], &good, sizeof(good));
  }
  EXPECT_GT(words, 300u);
}

}  // namespace
}  // namespace unspool::collectors
