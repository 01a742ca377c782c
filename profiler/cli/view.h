// What only reads and prints: profiles or spools in, text or another format
// out; and --help and --version. All commands name what has no name yet.

#ifndef UNSPOOL_PROFILER_CLI_VIEW_H_
#define UNSPOOL_PROFILER_CLI_VIEW_H_

#include "profiler/cli/options.h"

namespace unspool::profiler {

// All return kExitOk or throw Failure: kExitFailure if the file is missing,
// corrupt or of another version, or if the output cannot be written;
// kExitUsage if it has no value of that type.
// Not async-signal-safe: read files and allocate.
int RunReport(const ReportOptions& options);
int RunExport(const ExportOptions& options);
int RunSymbolize(const SymbolizeOptions& options);
// kExitFailure also if the profiles count different things.
int RunMerge(const MergeOptions& options);
int RunDiff(const DiffOptions& options);
int RunPrint(const PrintOptions& options);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_VIEW_H_
