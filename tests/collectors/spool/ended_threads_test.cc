// Threads that come and go: the spool's size follows what they do, not how many
// they are.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/collectors/spool/spool_writer_fixture.h"

namespace unspool::collectors {
namespace {

using unwind::WalkEnd;

struct Sum {
  uint64_t records = 0;
  uint64_t count = 0;
  uint64_t weight = 0;
  uint64_t unsampled_ns = 0;
};

class EndedThreadsTest : public SpoolWriterTest {
 protected:
  // The next thread, in `log`; its first sample is what its name is known with.
  void Begin(ThreadLog& log, int32_t tid, const char* name) {
    writer_.AddThread(log, tid, "");
    writer_.SetThreadName(log, name);
  }

  void Sample(ThreadLog& log, uint64_t times, uint64_t pc = 0x1000) {
    const unwind::Frame frames[] = {{kAppBias + pc, kApp, true, false}};
    const NodeId stack = writer_.AddStack(frames, WalkEnd::kRoot);
    for (uint64_t i = 0; i < times; ++i) {
      ASSERT_TRUE(writer_.AddSample(log, SampleKind::kCpu, stack, 10));
    }
  }

  // As many threads as get a record of their own.
  void UseUpOwnRecords() {
    for (uint32_t i = 0; i < kOwnRecords; ++i) {
      Begin(log_, 1'000'000 + static_cast<int32_t>(i), "first");
      Sample(log_, 1);
    }
  }

  std::map<std::pair<int32_t, std::string>, Sum> Sums() {
    std::map<std::pair<int32_t, std::string>, Sum> sums;
    Read().ForEachThread(0, [&](const ThreadView& thread) {
      // All of the first ones together.
      const int32_t tid = thread.tid >= 1'000'000 ? 1'000'000 : thread.tid;
      Sum& sum = sums[{tid, thread.name.data()}];
      ++sum.records;
      sum.unsampled_ns += thread.unsampled_ns;
      reader_->ForEachCounter(0, thread, [&](const CounterView& counter) {
        sum.count += counter.count;
        sum.weight += counter.weight;
      });
    });
    return sums;
  }
};

TEST_F(EndedThreadsTest, TheFirstKeepTheirNumbers) {
  UseUpOwnRecords();
  const auto sums = Sums();
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums.at({1'000'000, "first"}).records, kOwnRecords);
}

TEST_F(EndedThreadsTest, LaterShortOnesOfANameAreOneWithoutANumber) {
  UseUpOwnRecords();
  const size_t size = spool_.Bytes().size();
  for (int i = 0; i < 10'000; ++i) {
    Begin(log_, 100 + i, "first");
    Sample(log_, 2, i % 3 == 0 ? 0x1000 : 0x2000);
    writer_.AddUnsampled(log_, 5);
  }
  EXPECT_EQ(spool_.Bytes().size(), size);
  const auto sums = Sums();
  ASSERT_EQ(sums.size(), 2u);
  const Sum& several = sums.at({0, "first"});
  EXPECT_EQ(several.records, 1u);
  // That of the last of the first is among them.
  EXPECT_EQ(several.count, 20'001u);
  EXPECT_EQ(several.weight, 200'010u);
  EXPECT_EQ(several.unsampled_ns, 50'000u);
}

TEST_F(EndedThreadsTest, AnotherNameGetsARecordOfItsOwn) {
  UseUpOwnRecords();
  Begin(log_, 7, "other");
  Sample(log_, 3);
  const auto sums = Sums();
  EXPECT_EQ(sums.at({7, "other"}).count, 3u);
  EXPECT_EQ(sums.count({0, "first"}), 0u);
}

TEST_F(EndedThreadsTest, AThreadThatIsRenamedGoesItsOwnWay) {
  UseUpOwnRecords();
  Begin(log_, 7, "first");
  Sample(log_, 3);
  writer_.SetThreadName(log_, "pool-1");
  Sample(log_, 4);
  const auto sums = Sums();
  EXPECT_EQ(sums.at({0, "first"}).count, 4u);
  EXPECT_EQ(sums.at({7, "pool-1"}).count, 4u);
}

TEST_F(EndedThreadsTest, AThreadOfManySamplesGoesItsOwnWayAndKeepsItsNumber) {
  UseUpOwnRecords();
  Begin(log_, 7, "first");
  Sample(log_, kFewSamples + 100);
  // The next one finds nothing that it could go on with.
  Begin(log_, 8, "first");
  Sample(log_, 1);
  const auto sums = Sums();
  EXPECT_EQ(sums.at({0, "first"}).count, 1 + kFewSamples);
  EXPECT_EQ(sums.at({7, "first"}).count, 100u);
  EXPECT_EQ(sums.at({8, "first"}).count, 1u);
}

TEST_F(EndedThreadsTest, ManyStacksAreFoundAgain) {
  UseUpOwnRecords();
  // Past the record's own page, in threads of few samples each.
  for (int i = 0; i < 1'000; ++i) {
    Begin(log_, 7, "first");
    for (uint64_t j = 0; j < 8; ++j) Sample(log_, 1, 0x3000 + i * 8 + j);
  }
  const size_t size = spool_.Bytes().size();
  for (int i = 0; i < 1'000; ++i) {
    Begin(log_, 7, "first");
    for (uint64_t j = 0; j < 8; ++j) Sample(log_, 1, 0x3000 + i * 8 + j);
  }
  EXPECT_EQ(spool_.Bytes().size(), size);
  EXPECT_EQ(Sums().at({0, "first"}).count, 16'001u);
}

TEST_F(EndedThreadsTest, AThreadWithoutSamplesLeavesWhatTheOneBeforeLeft) {
  UseUpOwnRecords();
  Begin(log_, 7, "first");
  Begin(log_, 8, "first");
  Sample(log_, 1);
  EXPECT_EQ(Sums().at({0, "first"}).count, 2u);
}

TEST_F(EndedThreadsTest, AnotherRecordingHasNothingOfThisOne) {
  UseUpOwnRecords();
  writer_.Close();
  TestSpool other;
  ASSERT_EQ(writer_.Open(other.fd(), TestImage()), SpoolStatus::kOk);
  writer_.AddModule(kApp, TestModule(kAppBias, 0x9000, 0x10, "/usr/bin/app"));
  Begin(log_, 7, "first");
  Sample(log_, 2);
  const std::vector<uint8_t> bytes = other.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  std::map<int32_t, int> tids;
  reader.ForEachThread(0,
                       [&](const ThreadView& thread) { ++tids[thread.tid]; });
  EXPECT_EQ(tids, (std::map<int32_t, int>{{7, 1}}));
}

}  // namespace
}  // namespace unspool::collectors
