// The file that a recording will become: its name, and whether it can be
// written. Asked before the program starts, so that no run is wasted.

#ifndef UNSPOOL_PROFILER_CLI_OUTPUT_FILE_H_
#define UNSPOOL_PROFILER_CLI_OUTPUT_FILE_H_

#include <sys/types.h>

#include <string>

#include "profiler/agent/unique_fd.h"
#include "profiler/cli/signal_gate.h"

namespace unspool::profiler {

// Throws Failure(kExitFailure) if `path` is a directory, or a profile cannot be
// written there: creates a file beside it, as the write at the end will, and
// removes it again. Any thread.
// Not async-signal-safe: allocates and throws.
void CheckWritable(const std::string& path);

// `pattern` with %p %n %t %h and %% expanded, as the agent does it; `program`
// is the path of what is run. Throws Failure(kExitUsage) for another letter
// after
// %, or a name that is too long.
// Not async-signal-safe: allocates and throws.
std::string ExpandPattern(const std::string& pattern, pid_t pid,
                          const std::string& program);

// `path` made absolute, and through its symbolic links unless they end at
// something that is no regular file: a link to last week's profile stays a
// link.
// Not async-signal-safe: allocates.
std::string ResolveOutput(const std::string& path);

// Where `path` is a named pipe: waits until somebody reads from it, says so if
// it takes time, and opens it, so that the reader stays. False: the tool was
// asked to end before. Not async-signal-safe: waits.
bool AwaitReader(const std::string& path, const SignalGate& gate,
                 UniqueFd* pipe);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_OUTPUT_FILE_H_
