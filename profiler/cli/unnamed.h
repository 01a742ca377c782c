// What could not be named, told to the user.

#ifndef UNSPOOL_PROFILER_CLI_UNNAMED_H_
#define UNSPOOL_PROFILER_CLI_UNNAMED_H_

#include <cstddef>

#include "exporters/profile.h"

namespace unspool::profiler {

// Writes a line to stderr for each "unspool.unnamed=…" among the comments from
// index `first` on: files that are missing, damaged or of another build. Those
// before are told already, when the profile was named for the first time.
// Not async-signal-safe: allocates.
void TellUnnamed(const exporters::Profile& profile, size_t first);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_UNNAMED_H_
