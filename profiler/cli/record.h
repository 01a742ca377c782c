// unspool record: runs a program, profiled, to its end.

#ifndef UNSPOOL_PROFILER_CLI_RECORD_H_
#define UNSPOOL_PROFILER_CLI_RECORD_H_

#include "profiler/cli/options.h"

namespace unspool::profiler {

// Returns the exit status: the program's own, 128 + N if signal N ended it, or
// kExitFailure if it succeeded and there is no profile. Throws Failure for all
// that is found out before the program starts.
// Not async-signal-safe: runs a program.
int RunRecord(const RecordOptions& options);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_RECORD_H_
