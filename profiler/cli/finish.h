// From the spool that a program left to the profile that the user asked for.

#ifndef UNSPOOL_PROFILER_CLI_FINISH_H_
#define UNSPOOL_PROFILER_CLI_FINISH_H_

#include <cstdint>
#include <string>

#include "profiler/cli/kept_files.h"
#include "profiler/cli/options.h"
#include "profiler/cli/recording_spool.h"
#include "profiler/cli/signal_gate.h"
#include "profiler/cli/supervise.h"

namespace unspool::profiler {

// Names what was recorded, writes it to `output` and says so in one line.
// A signal that asks the tool to end cuts the naming short; the profile is
// written all the same, and report and export name the rest.
// Throws Failure(kExitFailure) if there is nothing to write, or if it could not
// be written: the spool is saved then, and the line says where.
// Not async-signal-safe: reads files, allocates and throws.
void FinishRecording(const RecordOptions& options, const std::string& output,
                     const RecordingSpool& spool, const KeptFiles& files,
                     const ProgramEnd& end, const SignalGate& gate);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_FINISH_H_
