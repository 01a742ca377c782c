// `unspool cfi`: what the unwinder reads from a file's call-frame information.

#ifndef UNSPOOL_PROFILER_CLI_CFI_H_
#define UNSPOOL_PROFILER_CLI_CFI_H_

#include "profiler/cli/options.h"

namespace unspool::profiler {

// Prints it on stdout, in readelf's words (cfi_dump.h). Returns kExitOk, or
// throws Failure(kExitFailure): the file cannot be read, is not an ELF file of
// this CPU, has no such information, or none for the PC that was asked for, or
// some of it is malformed (what is not was printed).
// Not async-signal-safe: reads a file and allocates.
int RunCfi(const CfiOptions& options);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_CFI_H_
