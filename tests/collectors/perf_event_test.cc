#include "collectors/perf_event.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "collectors/cpu_timer.h"
#include "collectors/try_lock.h"
#include "tests/collectors/one_call_filter.h"

namespace unspool::collectors {
namespace {

constexpr uint64_t kMsNs = 1'000'000;
using Delivery = PerfEvent::Delivery;

std::atomic<int> ticks{0};
std::atomic<int64_t> tick_cookie{-1};
std::atomic<int> tick_tid{0};

void OnTick(int, siginfo_t* info, void*) {
  ++ticks;
  tick_cookie = PerfCookie(*info).value_or(~0U);
  tick_tid = gettid();
}

void SpinMs(uint64_t ms) {
  const uint64_t end = OwnCpuNs() + ms * kMsNs;
  while (OwnCpuNs() < end) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

PerfObstacle Try(Delivery delivery) {
  const SignalBlock block;
  return PerfEvent::Try(delivery);
}

PerfObstacle Open(Delivery delivery, uint32_t cookie, PerfEvent& event) {
  PerfEvent::Request request;
  request.delivery = delivery;
  request.tid = gettid();
  request.signal = SIGUSR2;
  request.cookie = cookie;
  request.period_ns = kMsNs;
  const SignalBlock block;
  return event.Open(request);
}

ptrdiff_t CountDescriptors() {
  using Entries = std::filesystem::directory_iterator;
  return std::distance(Entries("/proc/self/fd"), Entries());
}

class PerfEventTest : public testing::TestWithParam<Delivery> {
 protected:
  void SetUp() override {
    ticks = 0;
    tick_cookie = -1;
    struct sigaction action {};
    action.sa_sigaction = &OnTick;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    sigaction(SIGTRAP, &action, nullptr);
  }
};

// Where the kernel refuses, Open() says what Try() says, and nothing ticks.
TEST_P(PerfEventTest, TicksCarryTheCookieToTheirThreadUntilItIsClosed) {
  const PerfObstacle obstacle = Try(GetParam());
  PerfEvent event;
  ASSERT_EQ(Open(GetParam(), 777, event), obstacle);
  SpinMs(100);
  if (obstacle != PerfObstacle::kNone) {
    EXPECT_EQ(ticks, 0);
    EXPECT_EQ(event.tid(), 0);
    return;
  }
  EXPECT_GT(ticks, 10);
  EXPECT_EQ(tick_cookie, 777);
  EXPECT_EQ(tick_tid, gettid());
  EXPECT_EQ(event.tid(), gettid());
  event.Close();
  SpinMs(2);
  const int before = ticks;
  SpinMs(50);
  EXPECT_EQ(ticks, before);
  EXPECT_EQ(event.tid(), 0);
}

TEST_P(PerfEventTest, TakesNoDescriptorAndLeavesNoChild) {
  const ptrdiff_t before = CountDescriptors();
  PerfEvent event;
  EXPECT_EQ(Open(GetParam(), 1, event), Try(GetParam()));
  EXPECT_EQ(CountDescriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_P(PerfEventTest, LimitsOfTheProgramStayAsTheyAre) {
  rlimit before{}, after{};
  getrlimit(RLIMIT_NOFILE, &before);
  PerfEvent event;
  EXPECT_EQ(Open(GetParam(), 1, event), Try(GetParam()));
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_cur);
}

TEST_P(PerfEventTest, AnEventIsReplacedByTheNext) {
  if (Try(GetParam()) != PerfObstacle::kNone) return;
  PerfEvent event;
  for (uint32_t cookie = 0; cookie < 300; ++cookie) {
    ASSERT_EQ(Open(GetParam(), cookie, event), PerfObstacle::kNone);
  }
  SpinMs(20);
  EXPECT_EQ(tick_cookie, 299);
}

TEST_P(PerfEventTest, WhatCannotBeHadIsSaid) {
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO;
  const struct {
    uint32_t call;
    uint32_t action;
    PerfObstacle obstacle;
  } rows[] = {
      {SYS_perf_event_open, kRefuse | EPERM, PerfObstacle::kNotPermitted},
      {SYS_perf_event_open, kRefuse | EACCES, PerfObstacle::kNotPermitted},
      {SYS_perf_event_open, kRefuse | ENOSYS, PerfObstacle::kNoCall},
      {SYS_perf_event_open, kRefuse | EINVAL, PerfObstacle::kNotSupported},
      {SYS_perf_event_open, kRefuse | ENOENT, PerfObstacle::kNotSupported},
      {SYS_perf_event_open, kRefuse | ENODEV, PerfObstacle::kNotSupported},
      {SYS_perf_event_open, kRefuse | EOPNOTSUPP, PerfObstacle::kNotSupported},
      {SYS_perf_event_open, kRefuse | EMFILE, PerfObstacle::kNoDescriptor},
      {SYS_perf_event_open, SECCOMP_RET_KILL_THREAD, PerfObstacle::kNoProcess},
      {SYS_clone, kRefuse | EAGAIN, PerfObstacle::kNoProcess},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::Message() << row.call << " " << row.action);
    const OneCallFilter filter(row.call, row.action);
    EXPECT_EXIT(
        {
          rlimit no_core{};
          no_core.rlim_cur = no_core.rlim_max = 1;
          setrlimit(RLIMIT_CORE, &no_core);
          filter.Install();
          _exit(static_cast<int>(Try(GetParam())));
        },
        testing::ExitedWithCode(static_cast<int>(row.obstacle)), "");
  }
}

TEST_P(PerfEventTest, WithoutCloseRangeTheTableIsCopied) {
  const PerfObstacle obstacle = Try(GetParam());
  const OneCallFilter filter(SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS);
  EXPECT_EXIT(
      {
        filter.Install();
        _exit(static_cast<int>(Try(GetParam())));
      },
      testing::ExitedWithCode(static_cast<int>(obstacle)), "");
}

INSTANTIATE_TEST_SUITE_P(Deliveries, PerfEventTest,
                         testing::Values(Delivery::kSignal, Delivery::kTrap));

TEST(PerfCookie, IsNotInSignalsOfOthers) {
  siginfo_t info{};
  info.si_signo = SIGPROF;
  info.si_code = SI_USER;
  EXPECT_FALSE(PerfCookie(info).has_value());
  info.si_code = POLL_IN;  // as SIGCHLD's CLD_EXITED, with a pid for a band
  info.si_band = 0x1234;
  info.si_fd = 5;
  EXPECT_FALSE(PerfCookie(info).has_value());
  info.si_signo = SIGTRAP;
  info.si_code = TRAP_BRKPT;
  EXPECT_FALSE(PerfCookie(info).has_value());
}

}  // namespace
}  // namespace unspool::collectors
