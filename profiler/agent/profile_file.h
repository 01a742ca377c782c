// The profile that the agent itself writes, without names: they are added by
// whoever reads it.

#ifndef UNSPOOL_PROFILER_AGENT_PROFILE_FILE_H_
#define UNSPOOL_PROFILER_AGENT_PROFILE_FILE_H_

#include <cstdint>
#include <span>

#include "profiler/agent/message.h"
#include "profiler/agent/output_name.h"

namespace unspool::profiler {

// Follows symbolic links to what they end at, and finds out whether a profile
// can be written there: a folder that we may write to, or something that is not
// a regular file (a pipe, /dev/null) and takes bytes.
// Not async-signal-safe: realpath() may allocate.
[[nodiscard]] Problem CheckOutput(OutputName* name);

// Writes the recording `spool` as pprof, gzip-compressed unless `name` ends in
// ".pb": under a temporary name beside it that is renamed when complete; to
// what is not a regular file directly. Never writes past RLIMIT_FSIZE, which
// would end the process. Not async-signal-safe: allocates.
[[nodiscard]] Problem WriteProfile(std::span<const uint8_t> spool,
                                   uint64_t end_monotonic_ns,
                                   const OutputName& name);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_PROFILE_FILE_H_
