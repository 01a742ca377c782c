// A program that restricts its own system calls (seccomp(2)), before sampling
// starts or while it runs.

#ifndef UNSPOOL_PROFILER_AGENT_SANDBOX_H_
#define UNSPOOL_PROFILER_AGENT_SANDBOX_H_

#include "collectors/optional_calls.h"
#include "collectors/seccomp_probe.h"

namespace unspool::profiler {

// At start: finds out what a filter that is there forbids us. All signals must
// be blocked. Not async-signal-safe: forks where there is a filter.
collectors::OptionalCallSet AdaptToFilter();

// One line on what is done without, of what was not said before. While a
// session runs. Not async-signal-safe: formats.
void SayWhatIsForbidden(collectors::OptionalCallSet calls);

// Right before the program carries out `request` itself: finds out what that
// will forbid us, prepares to do without, and says so. Gives what was forbidden
// before, to be restored should the kernel refuse the request. Afterwards
// nothing of ours makes those calls, in any thread. Does nothing while nothing
// is sampled. Not async-signal-safe: forks.
collectors::OptionalCallSet AdaptToRequest(
    const collectors::SeccompRequest& request);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SANDBOX_H_
