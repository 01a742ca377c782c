// The processes that still record when the command has ended: what it left in
// the background, and daemons.

#ifndef UNSPOOL_PROFILER_CLI_PROCESS_TREE_H_
#define UNSPOOL_PROFILER_CLI_PROCESS_TREE_H_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "profiler/cli/recording_spool.h"
#include "profiler/cli/signal_gate.h"
#include "profiler/cli/supervise.h"

namespace unspool::profiler {

// Live processes that have this spool mapped, or were told to record into it
// and have not come to that yet. Those of other users are not seen unless the
// caller is root. Not async-signal-safe: reads /proc, allocates.
std::vector<pid_t> FindRecorders(const RecordingSpool& spool);

// Waits until there are none; says so if that takes longer than a moment. A
// signal that asks the tool to end, or the deadline, ends the wait, and with it
// all sampling. Other signals are taken and ignored: the program that they were
// meant for is gone. `chore` (may be null) is done as by Supervise().
// Not async-signal-safe: waits, allocates.
void WaitForRecorders(
    RecordingSpool& spool, const SignalGate& gate,
    std::optional<std::chrono::steady_clock::time_point> deadline,
    const Chore& chore);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_PROCESS_TREE_H_
