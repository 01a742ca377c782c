#include "collectors/engine_choice.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "collectors/try_lock.h"
#include "tests/collectors/one_call_filter.h"

namespace unspool::collectors {
namespace {

constexpr uint64_t kSlowNs = 10'000'000;
constexpr uint64_t kFastNs = 250'000;

EngineChoice Choose(Engine asked, uint64_t period_ns, bool sees_exec = true) {
  const SignalBlock block;
  return ChooseEngine(asked, period_ns, sees_exec);
}

bool CanBeHad(PerfEvent::Delivery delivery) {
  const SignalBlock block;
  return PerfEvent::Try(delivery) == PerfObstacle::kNone;
}

// As a number, for an exit status.
int Encode(const EngineChoice& choice) {
  return static_cast<int>(choice.engine) << 5 |
         static_cast<int>(choice.missed) << 3 |
         static_cast<int>(choice.obstacle);
}

TEST(EngineChoice, NamesAreReadBack) {
  for (const Engine engine :
       {Engine::kAuto, Engine::kTimer, Engine::kPerf, Engine::kTrap}) {
    Engine read = Engine::kAuto;
    EXPECT_TRUE(ParseEngine(EngineName(engine), &read));
    EXPECT_EQ(read, engine);
  }
  Engine engine = Engine::kAuto;
  for (const char* name : {"", "Timer", "timers", "ring"}) {
    EXPECT_FALSE(ParseEngine(name, &engine)) << name;
  }
}

TEST(EngineChoice, EveryObstacleHasItsWords) {
  for (int i = 1; i <= static_cast<int>(PerfObstacle::kExecUnseen); ++i) {
    EXPECT_NE(std::string(DescribeObstacle(static_cast<PerfObstacle>(i))), "");
  }
}

TEST(EngineChoice, WhatTheKernelsTickGivesIsForTimers) {
  for (const Engine asked : {Engine::kAuto, Engine::kTimer}) {
    const EngineChoice choice = Choose(asked, kSlowNs);
    EXPECT_EQ(choice.engine, Engine::kTimer);
    EXPECT_EQ(choice.missed, Engine::kAuto);
  }
  EXPECT_EQ(Choose(Engine::kTimer, kFastNs).engine, Engine::kTimer);
}

TEST(EngineChoice, AboveItTheBestThatCanBeHadIsTaken) {
  const bool has_perf = CanBeHad(PerfEvent::Delivery::kSignal);
  const bool has_trap = CanBeHad(PerfEvent::Delivery::kTrap);
  const Engine best = has_trap   ? Engine::kTrap
                      : has_perf ? Engine::kPerf
                                 : Engine::kTimer;
  EXPECT_EQ(Choose(Engine::kAuto, kFastNs).engine, best);
  EXPECT_EQ(Choose(Engine::kTrap, kFastNs).engine, best);
  const Engine perf = has_perf ? Engine::kPerf : Engine::kTimer;
  EXPECT_EQ(Choose(Engine::kPerf, kFastNs).engine, perf);
  EXPECT_EQ(Choose(Engine::kPerf, kSlowNs).engine, perf);
}

TEST(EngineChoice, WhatIsMissedIsSaidWithItsReason) {
  const struct {
    Engine asked;
    uint64_t period_ns;
    Engine missed;
  } rows[] = {{Engine::kAuto, kFastNs, Engine::kTrap},
              {Engine::kTrap, kFastNs, Engine::kTrap},
              {Engine::kTrap, kSlowNs, Engine::kTrap},
              {Engine::kPerf, kFastNs, Engine::kPerf},
              {Engine::kAuto, kSlowNs, Engine::kAuto},
              {Engine::kTimer, kFastNs, Engine::kAuto}};
  const OneCallFilter filter(SYS_perf_event_open, SECCOMP_RET_ERRNO | EACCES);
  for (const auto& row : rows) {
    SCOPED_TRACE(EngineName(row.asked));
    EngineChoice expected;
    expected.missed = row.missed;
    if (row.missed != Engine::kAuto) {
      expected.obstacle = PerfObstacle::kNotPermitted;
    }
    EXPECT_EXIT(
        {
          filter.Install();
          _exit(Encode(Choose(row.asked, row.period_ns)));
        },
        testing::ExitedWithCode(Encode(expected)), "");
  }
}

TEST(EngineChoice, WithoutSightOfExecThereIsNoTrap) {
  const EngineChoice choice = Choose(Engine::kTrap, kFastNs, false);
  EXPECT_NE(choice.engine, Engine::kTrap);
  EXPECT_EQ(choice.missed, Engine::kTrap);
  EXPECT_EQ(choice.obstacle, PerfObstacle::kExecUnseen);
  EXPECT_NE(Choose(Engine::kAuto, kFastNs, false).engine, Engine::kTrap);
}

TEST(EngineChoice, ATracerIsNotToldOfEachTick) {
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME);
    const EngineChoice choice = Choose(Engine::kTrap, kFastNs);
    _exit(choice.missed == Engine::kTrap &&
                  choice.obstacle == PerfObstacle::kTraced
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace unspool::collectors
