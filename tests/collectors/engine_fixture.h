// The engine with the real unwinder and a real spool, in this process: what its
// tests share.

#ifndef UNSPOOL_TESTS_COLLECTORS_ENGINE_FIXTURE_H_
#define UNSPOOL_TESTS_COLLECTORS_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

#include "collectors/cpu_timer.h"
#include "collectors/sampling_engine.h"
#include "collectors/spool/spool_reader.h"

namespace unspool::collectors {

inline constexpr uint64_t kMsNs = 1'000'000;
inline constexpr uint64_t kPeriodNs = 10 * kMsNs;

// One per process: both must outlive every tick.
inline constinit unwind::SelfUnwinder unwinder;
inline constinit SamplingEngine engine;

struct ThreadSums {
  uint64_t samples = 0;
  uint64_t weight_ns = 0;  // what came after the last tick included
  std::map<LossCause, uint64_t> lost_ns;
  std::string name;
};

inline void SpinMs(uint64_t ms) {
  const uint64_t end = ThreadCpuNs(gettid()) + ms * kMsNs;
  while (ThreadCpuNs(gettid()) < end) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer delivers signals late and several as one: no totals, but it
// looks for races.
inline constexpr double kSlackNs = 1e9;
#else
// A period for the start, and a rest that is carried to another thread.
inline constexpr double kSlackNs = 3 * kPeriodNs;
#endif

// A recording in memory for each test.
class SamplingEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(unwinder.Init(), unwind::SelfUnwinder::InitStatus::kOk);
    fd_ = memfd_create("spool", MFD_CLOEXEC);
    ASSERT_EQ(SpoolWriter::Create(fd_, 64 << 20), SpoolStatus::kOk);
    ImageInfo info;
    info.pid = getpid();
    ASSERT_EQ(writer_.Open(fd_, info), SpoolStatus::kOk);
    recorder_.Begin(unwinder, writer_);
  }
  void TearDown() override {
    writer_.Close();
    close(fd_);
  }

  void Start(Engine kind = Engine::kTimer, uint64_t period_ns = kPeriodNs) {
    SamplingEngine::Config config;
    config.engine = kind;
    config.period_ns = period_ns;
    config.max_depth = 128;
    config.signal = SIGPROF;
    ASSERT_EQ(engine.Start(config, recorder_),
              SamplingEngine::StartStatus::kOk);
  }
  static void Stop() {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    engine.Stop(mask);
  }

  // What was recorded so far, by thread id.
  std::map<int32_t, ThreadSums> Recorded() {
    SpoolReader reader;
    std::map<int32_t, ThreadSums> sums;
    EXPECT_EQ(reader.Open(writer_.bytes()), SpoolStatus::kOk);
    reader.ForEachThread(0, [&](const ThreadView& thread) {
      ThreadSums& sum = sums[thread.tid];
      sum.name = thread.name.data();
      sum.weight_ns += thread.unsampled_ns;
      reader.ForEachCounter(0, thread, [&](const CounterView& counter) {
        EXPECT_EQ(counter.kind, SampleKind::kCpu);
        sum.samples += counter.count;
        sum.weight_ns += counter.weight;
      });
      for (size_t cause = 0; cause < kLossCauseCount; ++cause) {
        if (thread.losses[cause].count == 0) continue;
        sum.lost_ns[static_cast<LossCause>(cause)] +=
            thread.losses[cause].weight;
      }
    });
    return sums;
  }

  int fd_ = -1;
  SpoolWriter writer_;
  Recorder recorder_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_TESTS_COLLECTORS_ENGINE_FIXTURE_H_
