// Waits for the program to end, and passes on what it should hear meanwhile.

#ifndef UNSPOOL_PROFILER_CLI_SUPERVISE_H_
#define UNSPOOL_PROFILER_CLI_SUPERVISE_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "profiler/cli/signal_gate.h"

namespace unspool::profiler {

struct ProgramEnd {
  int wait_status = 0;        // as from wait(2)
  uint64_t cpu_time_ns = 0;   // user + system, waited-for children included
  uint64_t monotonic_ns = 0;  // CLOCK_MONOTONIC when it was noticed
};

// What is to be done while the tool waits, by the thread that waits: returns
// when to do it again.
using Chore = std::function<std::chrono::nanoseconds()>;

// Calls `at_deadline` once, that long after the call, if the program lives so
// long, and `chore` (may be null) at once and when it says. Signals that other
// processes send to the tool go to the program too. A terminal sends to the
// whole foreground group: the program has its own copy, and only where it left
// the group it is passed on. When the tool was asked to stop by SIGTSTP and the
// program did stop, the tool stops itself, so that a shell sees the job
// stopped, and both go on together. Not async-signal-safe: waits and allocates.
ProgramEnd Supervise(pid_t program, const SignalGate& gate,
                     std::optional<std::chrono::nanoseconds> deadline,
                     const std::function<void()>& at_deadline,
                     const Chore& chore);

// The exit status that the tool passes on: the program's own, or 128 + N.
// Async-signal-safe.
int ExitStatusOf(int wait_status);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_SUPERVISE_H_
