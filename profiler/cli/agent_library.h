// Where libunspool.so is, in a form that LD_PRELOAD can carry.

#ifndef UNSPOOL_PROFILER_CLI_AGENT_LIBRARY_H_
#define UNSPOOL_PROFILER_CLI_AGENT_LIBRARY_H_

#include <string>

namespace unspool::profiler {

// The absolute path of ../lib/libunspool.so seen from the running executable.
// Throws Failure(kExitFailure) if it is not there or not readable, or if its
// path holds what ld.so(8) would not take literally. Any thread.
// Not async-signal-safe: allocates and throws.
std::string FindAgentLibrary();

// Throws Failure(kExitFailure) if `path` cannot stand in LD_PRELOAD: ld.so(8)
// separates entries at ':' and ' ' without any escape, and expands '$'.
// Not async-signal-safe: allocates and throws.
void CheckPreloadable(const std::string& path);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_AGENT_LIBRARY_H_
