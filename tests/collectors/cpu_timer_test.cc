#include "collectors/cpu_timer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "collectors/period.h"

namespace unspool::collectors {
namespace {

constexpr uint64_t kMsNs = 1'000'000;

std::atomic<int> ticks{0};
std::atomic<int> tick_timer{CpuTimer::kNone};
std::atomic<uint64_t> tick_cookie{0};
std::atomic<int> tick_tid{0};

void OnTick(int, siginfo_t* info, void*) {
  ++ticks;
  tick_timer = info->si_timerid;
  tick_cookie = reinterpret_cast<uint64_t>(info->si_value.sival_ptr);
  tick_tid = gettid();
}

class CpuTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    ticks = 0;
    struct sigaction action {};
    action.sa_sigaction = &OnTick;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
  }
  void TearDown() override { signal(SIGUSR2, SIG_IGN); }
};

void SpinUntil(uint64_t cpu_ns) {
  while (ThreadCpuNs(gettid()) < cpu_ns) {
  }
}

TEST_F(CpuTimerTest, ClockIsThatOfTheThread) {
  const uint64_t before = ThreadCpuNs(gettid());
  std::thread other([] { SpinUntil(50 * kMsNs); });
  other.join();
  EXPECT_GT(before, 0u);
  EXPECT_LT(ThreadCpuNs(gettid()) - before, 40 * kMsNs);
}

TEST_F(CpuTimerTest, ClockOfAThreadThatIsGoneIsZero) {
  std::atomic<int32_t> tid{0};
  std::thread other([&] { tid = gettid(); });
  other.join();
  while (ThreadCpuNs(tid) != 0) usleep(1000);  // the kernel is not done yet
  EXPECT_EQ(ThreadCpuNs(tid), 0u);
}

TEST_F(CpuTimerTest, TicksCarryTimerAndCookieToTheirThread) {
  CpuTimer timer;
  ASSERT_TRUE(timer.Create(gettid(), SIGUSR2, 0x123456789abc));
  EXPECT_FALSE(timer.IsArmed());
  timer.Arm(1 * kMsNs, 5 * kMsNs);
  EXPECT_TRUE(timer.IsArmed());
  while (ticks < 3) {
  }
  EXPECT_EQ(tick_timer, timer.id());
  EXPECT_EQ(tick_cookie, 0x123456789abcu);
  EXPECT_EQ(tick_tid, gettid());
}

TEST_F(CpuTimerTest, NoTickAfterDisarmAndDelete) {
  CpuTimer timer;
  ASSERT_TRUE(timer.Create(gettid(), SIGUSR2, 0));
  timer.Arm(1 * kMsNs, 1 * kMsNs);
  timer.Disarm();
  EXPECT_FALSE(timer.IsArmed());
  const int seen = ticks;
  SpinUntil(ThreadCpuNs(gettid()) + 30 * kMsNs);
  EXPECT_EQ(ticks, seen);
  timer.Delete();
  EXPECT_EQ(timer.id(), CpuTimer::kNone);
  timer.Delete();
}

TEST_F(CpuTimerTest, IsNotArmedOnceItsThreadEnded) {
  CpuTimer timer;
  std::thread other([&] {
    ASSERT_TRUE(timer.Create(gettid(), SIGUSR2, 0));
    timer.Arm(kNsPerSecond, kNsPerSecond);
    EXPECT_TRUE(timer.IsArmed());
  });
  other.join();
  while (timer.IsArmed()) usleep(1000);
  EXPECT_FALSE(timer.IsArmed());
}

TEST_F(CpuTimerTest, CannotBeMadeForAThreadOfNobody) {
  CpuTimer timer;
  EXPECT_FALSE(timer.Create(0x3fffffff, SIGUSR2, 0));
  EXPECT_EQ(timer.id(), CpuTimer::kNone);
}

TEST_F(CpuTimerTest, KernelTickIsBetween100And1000Hz) {
  EXPECT_GE(KernelTickNs(), kNsPerSecond / 1000);
  EXPECT_LE(KernelTickNs(), kNsPerSecond / 100);
}

}  // namespace
}  // namespace unspool::collectors
