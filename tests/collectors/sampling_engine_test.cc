// The engine with the real unwinder and a real spool, in this process. What
// only an agent adds (pthread_create in front of libc's) is done by hand here.

#include "collectors/sampling_engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "collectors/period.h"
#include "tests/collectors/engine_fixture.h"

namespace unspool::collectors {
namespace {

int forwarded = 0;
void CountForwarded(int) { ++forwarded; }

TEST_F(SamplingEngineTest, SumOfWeightsIsTheCpuTimeOfEachThread) {
  std::atomic<int32_t> other_tid{0};
  std::atomic<bool> go{false};
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "other");
    other_tid = gettid();
    while (!go) usleep(1000);
    SpinMs(300);
    while (go) usleep(1000);
  });
  while (other_tid == 0) usleep(1000);
  Start();
  go = true;
  SpinMs(600);
  while (ThreadCpuNs(other_tid) < 300 * kMsNs) usleep(1000);
  Stop();
  go = false;
  other.join();

  std::map<int32_t, ThreadSums> sums = Recorded();
  EXPECT_NEAR(static_cast<double>(sums[gettid()].weight_ns), 600e6, kSlackNs);
  EXPECT_NEAR(static_cast<double>(sums[other_tid].weight_ns), 300e6, kSlackNs);
  EXPECT_EQ(sums[other_tid].name, "other");
  EXPECT_GT(sums[gettid()].samples, 0u);
  EXPECT_EQ(engine.totals().samples,
            sums[gettid()].samples + sums[other_tid].samples);
}

struct Started {
  ThreadState* state;
  int32_t tid;
  unwind::StackBounds stack;
};

void* RunAsAgentWould(void* argument) {
  auto* started = static_cast<Started*>(argument);
  const ThreadState::Start start = started->state->start;
  engine.BeginThread(*started->state);
  started->stack = started->state->stack;
  started->tid = gettid();
  start.routine(start.argument);
  engine.EndThread(started->state);
  return nullptr;
}

TEST_F(SamplingEngineTest, AToldThreadIsSampledWithItsStackBoundsUntilItEnds) {
  Start();
  std::atomic<bool> ran{false};
  const auto routine = [](void* flag) -> void* {
    pthread_setname_np(pthread_self(), "told");
    SpinMs(200);
    *static_cast<std::atomic<bool>*>(flag) = true;
    return nullptr;
  };
  Started started{};
  started.state =
      engine.PrepareThread({routine, &ran}, RequestedStack(nullptr));
  ASSERT_NE(started.state, nullptr);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, &RunAsAgentWould, &started), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(ran);
  EXPECT_GT(started.stack.high, started.stack.low);
  Stop();
  std::map<int32_t, ThreadSums> sums = Recorded();
  EXPECT_NEAR(static_cast<double>(sums[started.tid].weight_ns), 200e6,
              kSlackNs);
  EXPECT_EQ(sums[started.tid].name, "told");
}

TEST_F(SamplingEngineTest, AThreadThatIsNotMadeIsAbandoned) {
  Start();
  ThreadState* state = engine.PrepareThread({nullptr, nullptr}, {});
  ASSERT_NE(state, nullptr);
  engine.AbandonThread(*state);
  // Its state is free for the next one.
  EXPECT_EQ(engine.PrepareThread({nullptr, nullptr}, {}), state);
  engine.AbandonThread(*state);
  Stop();
}

TEST_F(SamplingEngineTest, WhenItDoesNotRunThereIsNothingToPrepare) {
  EXPECT_FALSE(engine.is_running());
  EXPECT_EQ(engine.PrepareThread({nullptr, nullptr}, {}), nullptr);
}

TEST_F(SamplingEngineTest, AThreadThatNobodyToldOfIsFoundFromATick) {
  Start();
  std::atomic<int32_t> tid{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    tid = gettid();
    while (!done) SpinMs(1);
  });
  while (tid == 0) usleep(1000);
  // Ticks of this thread, until one of them has looked.
  for (int i = 0; i < 200 && Recorded()[tid].samples == 0; ++i) SpinMs(50);
  EXPECT_GT(Recorded()[tid].samples, 0u);
  done = true;
  other.join();
  Stop();
}

TEST_F(SamplingEngineTest, TimeOfAThreadThatBlocksTheSignalIsALoss) {
  std::atomic<int32_t> tid{0};
  std::atomic<bool> go{false};
  std::atomic<bool> done{false};
  bool is_blocked_at_end = false;
  std::thread other([&] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    tid = gettid();
    while (!go) usleep(1000);
    SpinMs(200);
    done = true;
    while (go) usleep(1000);
    pthread_sigmask(SIG_BLOCK, nullptr, &set);
    is_blocked_at_end = sigismember(&set, SIGPROF) == 1;
  });
  while (tid == 0) usleep(1000);
  Start();
  go = true;
  while (!done) usleep(1000);
  Stop();
  go = false;
  other.join();
  std::map<int32_t, ThreadSums> sums = Recorded();
  EXPECT_EQ(sums[tid].samples, 0u);
  EXPECT_NEAR(static_cast<double>(sums[tid].lost_ns[LossCause::kBlocked]),
              200e6, kSlackNs);
  EXPECT_TRUE(is_blocked_at_end);
}

TEST_F(SamplingEngineTest, OfAThreadThatBlocksTheSignalItIsSaidBeforeItEnds) {
  std::atomic<int32_t> tid{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    tid = gettid();
    while (!done) SpinMs(1);
  });
  while (tid == 0) usleep(1000);
  Start();
  // Ticks of this thread, until one of them has looked.
  for (int i = 0; i < 200 && Recorded()[tid].lost_ns.empty(); ++i) SpinMs(50);
  EXPECT_GT(Recorded()[tid].lost_ns[LossCause::kBlocked], 0u);
  done = true;
  other.join();
  Stop();
}

TEST_F(SamplingEngineTest, ATickThatComesAfterStopIsNobodys) {
  Start();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  sigset_t pending;
  do {
    SpinMs(1);
    sigpending(&pending);
  } while (sigismember(&pending, SIGPROF) == 0);
  Stop();
  const std::map<int32_t, ThreadSums> before = Recorded();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  SpinMs(30);
  EXPECT_EQ(Recorded()[gettid()].samples,
            before.contains(gettid()) ? before.at(gettid()).samples : 0);
}

TEST_F(SamplingEngineTest, SignalsOfOthersGoToTheHandlerBefore) {
  // Ours is in place since the first Start() of this process: put another's on
  // top, and start again on top of that.
  signal(SIGPROF, &CountForwarded);
  Start();
  forwarded = 0;
  raise(SIGPROF);
  EXPECT_EQ(forwarded, 1);
  // A timer of the program on the same signal, with a value that is not ours.
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  event.sigev_value.sival_int = 7;
  timer_t timer;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec soon = {{0, 0}, {0, 1'000'000}};
  timer_settime(timer, 0, &soon, nullptr);
  while (forwarded < 2) usleep(1000);
  timer_delete(timer);
  Stop();
  raise(SIGPROF);
  EXPECT_EQ(forwarded, 3);
}

TEST_F(SamplingEngineTest, AReplacedHandlerMakesTheTimeALoss) {
  Start();
  struct sigaction ours;
  sigaction(SIGPROF, nullptr, &ours);
  signal(SIGPROF, SIG_IGN);
  SpinMs(200);
  Stop();
  sigaction(SIGPROF, &ours, nullptr);
  EXPECT_NEAR(
      static_cast<double>(Recorded()[gettid()].lost_ns[LossCause::kBlocked]),
      200e6, kSlackNs);
}

TEST_F(SamplingEngineTest, NothingIsRecordedOnceTheToolAskedToStop) {
  Start();
  SpinMs(100);
  void* map = mmap(nullptr, 2 * kSpoolPageSize, PROT_READ | PROT_WRITE,
                   MAP_SHARED, fd_, 0);
  auto* control =
      reinterpret_cast<SpoolControl*>(static_cast<char*>(map) + kSpoolPageSize);
  __atomic_store_n(&control->sampling, 0, __ATOMIC_RELAXED);
  const uint64_t before = Recorded()[gettid()].weight_ns;
  EXPECT_GT(before, 0u);
  SpinMs(200);
  Stop();
  ThreadSums sums = Recorded()[gettid()];
  EXPECT_LE(sums.weight_ns, before + kPeriodNs);
  EXPECT_TRUE(sums.lost_ns.empty());
  munmap(map, 2 * kSpoolPageSize);
}

TEST_F(SamplingEngineTest, StartsAndStopsLeaveNoTimerBehind) {
  for (int i = 0; i < 2'000; ++i) {
    Start();
    Stop();
  }
  char byte;
  const int timers = open("/proc/self/timers", O_RDONLY);
  ASSERT_GE(timers, 0);
  EXPECT_EQ(read(timers, &byte, 1), 0);
  close(timers);
}

}  // namespace
}  // namespace unspool::collectors
