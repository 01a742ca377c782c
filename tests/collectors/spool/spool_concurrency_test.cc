// Many threads, many processes, sudden death.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "collectors/spool/spool_reader.h"
#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/drain.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using ::testing::ElementsAre;
using unwind::Frame;
using unwind::WalkEnd;

constexpr int kThreads = 8;

// Stack number `i`: its leaf is its own, its callers are shared with others.
NodeId AddNumbered(SpoolWriter& writer, uint64_t i) {
  const Frame frames[] = {{i, unwind::kNoModule, true, false},
                          {i / 16, unwind::kNoModule, false, false},
                          {i / 256, unwind::kNoModule, false, false}};
  return writer.AddStack(frames, WalkEnd::kRoot);
}

TEST(SpoolConcurrency, ThreadsShareStacksAndCountApart) {
  constexpr uint64_t kStacks = 50'000;  // the index grows meanwhile
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  std::vector<ThreadLog> logs(kThreads);
  std::vector<std::vector<NodeId>> ids(kThreads);
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      writer.AddThread(logs[t], 100 + t, "worker");
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (uint64_t i = 0; i < kStacks; ++i) {
        ids[t].push_back(AddNumbered(writer, i));
        writer.AddSample(logs[t], SampleKind::kCpu, ids[t].back(), t + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Two nodes of one stack may come of that growth, but few.
  for (int t = 1; t < kThreads; ++t) {
    uint64_t others = 0;
    for (uint64_t i = 0; i < kStacks; ++i) others += ids[t][i] != ids[0][i];
    EXPECT_LT(others, kStacks / 100);
  }

  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  const auto samples = ReadSamples(reader, 0);
  ASSERT_EQ(samples.size(), size_t{kThreads});
  for (const auto& [tid, list] : samples) {
    ASSERT_EQ(list.size(), kStacks);
    for (const ReadSample& sample : list) {
      const uint64_t i = sample.offsets.at(0);
      EXPECT_THAT(sample.offsets, ElementsAre(i, i / 16, i / 256));
      EXPECT_EQ(sample.count, 1u);
      EXPECT_EQ(sample.weight, static_cast<uint64_t>(tid - 100 + 1));
    }
  }
  writer.Close();
}

TEST(SpoolConcurrency, ModulesAreRecordedOnceByManyThreads) {
  constexpr unwind::ModuleId kModules = 200;
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (unwind::ModuleId id = 0; id < kModules; ++id) {
        writer.AddModule(id, TestModule(id << 20, 0x4000, 1, "/lib/some.so"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<unwind::ModuleId, int> counts;
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  reader.ForEachModule(0, [&](const ModuleView& m) { ++counts[m.id]; });
  ASSERT_EQ(counts.size(), kModules);
  for (const auto& [id, count] : counts) EXPECT_EQ(count, 1) << id;
  writer.Close();
}

TEST(SpoolConcurrency, LossesOfOneLogMayComeFromAnyThread) {
  constexpr uint64_t kLosses = 1000;
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  ThreadLog log;
  writer.AddThread(log, 5, "blocked");
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (uint64_t i = 0; i < kLosses; ++i) {
        writer.AddLoss(log, LossCause::kBlocked, 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  std::vector<LossCounter> losses;
  reader.ForEachThread(0, [&](const ThreadView& thread) {
    losses.push_back(thread.losses[static_cast<size_t>(LossCause::kBlocked)]);
  });
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].count, kThreads * kLosses);
  EXPECT_EQ(losses[0].weight, 3 * kThreads * kLosses);
  writer.Close();
}

TEST(SpoolConcurrency, ReaderMayLookWhileThreadsWrite) {
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  void* view =
      mmap(nullptr, kTestCapacity, PROT_READ, MAP_SHARED, spool.fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(view),
                                       kTestCapacity);
  std::atomic<bool> stop = false;
  std::vector<ThreadLog> logs(2);
  std::vector<std::thread> threads;
  for (ThreadLog& log : logs) {
    threads.emplace_back([&] {
      writer.AddThread(log, 7, "writer");
      for (uint64_t i = 0; !stop && i < 100'000; ++i) {
        writer.AddSample(log, SampleKind::kCpu, AddNumbered(writer, i), 1);
      }
    });
  }
  // Looks until plenty was seen to grow.
  constexpr size_t kPlenty = 20'000;
  for (size_t seen = 0; seen < kPlenty;) {
    const Drained all = Drain(bytes);
    ASSERT_EQ(all.status, SpoolStatus::kOk);
    ASSERT_GE(all.counters, seen);
    seen = all.counters;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const Drained all = Drain(bytes);
  EXPECT_GT(all.counters, 0u);
  EXPECT_EQ(all.whole_stacks, all.counters);
  munmap(view, kTestCapacity);
  writer.Close();
}

// What the child says it has recorded, in memory that outlives it.
struct Progress {
  std::atomic<uint64_t> samples[kThreads];
};

[[noreturn]] void RecordUntilKilled(int fd, Progress* progress) {
  static SpoolWriter writer;
  static ThreadLog logs[kThreads];
  if (writer.Open(fd, TestImage(getpid())) != SpoolStatus::kOk) _exit(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, progress] {
      writer.AddThread(logs[t], 100 + t, "doomed");
      // New stacks all the time, so that death comes while something is added.
      for (uint64_t i = 0;; ++i) {
        const NodeId stack = AddNumbered(writer, i * 3 + t);
        if (!writer.AddSample(logs[t], SampleKind::kCpu, stack, 1)) return;
        progress->samples[t].store(i + 1, std::memory_order_release);
      }
    });
  }
  for (;;) pause();
}

TEST(SpoolConcurrency, KilledWriterLosesNothing) {
  for (int round = 0; round < 5; ++round) {
    TestSpool spool;
    auto* progress = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(progress, MAP_FAILED);
    const pid_t child = fork();
    if (child == 0) RecordUntilKilled(spool.fd(), progress);
    while (progress->samples[kThreads - 1] < 200) usleep(1000);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    const std::vector<uint8_t> bytes = spool.Bytes();
    SpoolReader reader;
    ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    const auto samples = ReadSamples(reader, 0);  // every stack is whole
    for (int t = 0; t < kThreads; ++t) {
      uint64_t count = 0;
      if (samples.contains(100 + t)) {
        for (const ReadSample& sample : samples.at(100 + t)) {
          count += sample.count;
        }
      }
      EXPECT_GE(count, progress->samples[t]);
      EXPECT_LE(count, progress->samples[t] + 1);
    }
    munmap(progress, sizeof(Progress));
  }
}

// Of an image but the spool's first, the record is written by whoever comes
// first.
TEST(SpoolConcurrency, ThreadsThatBeginAnImageTogetherMakeOne) {
  for (int round = 0; round < 50; ++round) {
    TestSpool spool;
    SpoolWriter first;
    SpoolWriter writer;
    ASSERT_EQ(first.Open(spool.fd(), TestImage(1)), SpoolStatus::kOk);
    ASSERT_EQ(writer.Open(spool.fd(), TestImage(2)), SpoolStatus::kOk);
    std::atomic<int> ready = 0;
    std::vector<ThreadLog> logs(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        writer.AddThread(logs[t], 10 + t, "");
        ++ready;
        while (ready < kThreads) {
        }
        const NodeId stack = AddNumbered(writer, 1000);
        EXPECT_TRUE(writer.AddSample(logs[t], SampleKind::kCpu, stack, 5));
      });
    }
    for (std::thread& thread : threads) thread.join();
    first.Close();
    writer.Close();
    const std::vector<uint8_t> bytes = spool.Bytes();
    SpoolReader reader;
    ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    ASSERT_EQ(reader.image_count(), 2u);
    EXPECT_EQ(ReadSamples(reader, 1).size(), size_t{kThreads});
  }
}

TEST(SpoolConcurrency, ForkedChildGoesOnInTheMappingItInherits) {
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage(1), AtFork::kKeep),
            SpoolStatus::kOk);
  ThreadLog log;
  writer.AddThread(log, 1, "parent");
  ASSERT_TRUE(
      writer.AddSample(log, SampleKind::kCpu, AddNumbered(writer, 2000), 7));
  const pid_t child = fork();
  if (child == 0) {
    writer.BeginAfterFork(TestImage(2));
    if (!writer.sampling_wanted() || writer.has_recorded()) _exit(1);
    ThreadLog child_log;
    writer.AddThread(child_log, 2, "child");
    const NodeId stack = AddNumbered(writer, 1000);
    _exit(writer.AddSample(child_log, SampleKind::kCpu, stack, 5) ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(
      writer.AddSample(log, SampleKind::kCpu, AddNumbered(writer, 2000), 7));
  writer.Close();
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  ASSERT_EQ(reader.image_count(), 2u);
  EXPECT_EQ(ReadSamples(reader, 0).at(1).at(0).count, 2u);
  EXPECT_EQ(ReadSamples(reader, 1).at(2).at(0).offsets.at(0), 1000u);
}

TEST(SpoolConcurrency, ForkedChildOpensAnImageOfItsOwn) {
  TestSpool spool;
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage(1)), SpoolStatus::kOk);
  const pid_t child = fork();
  if (child == 0) {
    writer.ForgetAfterFork();
    if (writer.sampling_wanted()) _exit(1);
    if (writer.Open(spool.fd(), TestImage(2)) != SpoolStatus::kOk) _exit(2);
    ThreadLog log;
    writer.AddThread(log, 2, "child");
    const NodeId stack = AddNumbered(writer, 1000);
    _exit(writer.AddSample(log, SampleKind::kCpu, stack, 5) ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ThreadLog log;
  writer.AddThread(log, 1, "parent");
  EXPECT_TRUE(
      writer.AddSample(log, SampleKind::kCpu, AddNumbered(writer, 2000), 7));
  writer.Close();
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  ASSERT_EQ(reader.image_count(), 2u);
  EXPECT_EQ(ReadSamples(reader, 0).at(1).at(0).offsets.at(0), 2000u);
  EXPECT_EQ(ReadSamples(reader, 1).at(2).at(0).offsets.at(0), 1000u);
}

}  // namespace
}  // namespace unspool::collectors
