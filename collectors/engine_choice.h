// Which of the engines samples: what is asked for, or what is to be had.

#ifndef UNSPOOL_COLLECTORS_ENGINE_CHOICE_H_
#define UNSPOOL_COLLECTORS_ENGINE_CHOICE_H_

#include <cstdint>

#include "collectors/perf_event.h"

namespace unspool::collectors {

enum class Engine : uint8_t {
  kAuto,   // only to ask for
  kTimer,  // CpuTimer
  kPerf,   // PerfEvent, by signal
  kTrap,   // PerfEvent, by trap
};

// "auto", "timer", "perf" or "trap". Async-signal-safe.
const char* EngineName(Engine engine);

// The engine of that name; false: there is none. Async-signal-safe.
bool ParseEngine(const char* name, Engine* engine);

// For people; no full stop. Async-signal-safe.
const char* DescribeObstacle(PerfObstacle obstacle);

struct EngineChoice {
  Engine engine = Engine::kTimer;  // never kAuto
  // What would have been taken first, and why it was not; kAuto: nothing is
  // missed.
  Engine missed = Engine::kAuto;
  PerfObstacle obstacle = PerfObstacle::kNone;
};

// What kAuto is: at periods that the kernel's own tick can give, timers, which
// everyone has and which tick in the kernel too; below, kTrap, which does the
// same at any rate, else kPerf, else timers. One that is asked for and not to
// be had is replaced in that order. kTrap is for who `sees_exec`, and calls
// SamplingEngine::PrepareExec() then. Tries events where it must, and leaves
// none. All signals must be blocked. Not async-signal-safe: reads files.
EngineChoice ChooseEngine(Engine asked, uint64_t period_ns, bool sees_exec);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_ENGINE_CHOICE_H_
