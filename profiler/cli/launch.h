// Starts the program: fork(2) and execve(2), with the reason if the latter
// fails.

#ifndef UNSPOOL_PROFILER_CLI_LAUNCH_H_
#define UNSPOOL_PROFILER_CLI_LAUNCH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "profiler/cli/child_environment.h"
#include "profiler/cli/program.h"
#include "profiler/cli/signal_gate.h"

namespace unspool::profiler {

// Runs `path` with `arguments` (argv[0] first). The program has no descriptor
// and no signal state that the tool was not started with. `announce_pid` names
// a variable that is set to the program's pid in its environment, "" for none.
// A text without "#!" is run by /bin/sh, as execvp(3) does.
// Returns the pid once the program runs. Throws Failure: kExitNotFound or
// kExitNotExecutable if execve failed, kExitFailure if there can be no process.
// Not async-signal-safe: forks, allocates and throws.
pid_t StartProgram(const ResolvedProgram& program,
                   const std::vector<std::string>& arguments,
                   ChildEnvironment& environment,
                   const std::string& announce_pid, const SignalGate& gate);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_LAUNCH_H_
