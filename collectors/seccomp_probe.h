// Finds out which of the optional calls a seccomp filter leaves us.
//
// A filter may refuse a call or kill for it (seccomp(2), SECCOMP_RET_KILL_*).
// So where there is a filter, each is tried once in a child that is thrown
// away: when sampling starts, and again, with the new filter applied in the
// child first, when the program is about to restrict itself further. What
// failed or killed there is never made.

#ifndef UNSPOOL_COLLECTORS_SECCOMP_PROBE_H_
#define UNSPOOL_COLLECTORS_SECCOMP_PROBE_H_

#include <cstdint>

#include "collectors/optional_calls.h"

namespace unspool::collectors {

// A filter that is about to be installed, as seccomp(2) is told of it.
struct SeccompRequest {
  uint32_t operation = 0;         // SECCOMP_SET_MODE_STRICT or _FILTER
  const void* program = nullptr;  // struct sock_fprog
};

// True if this process has a filter, or if that cannot be known.
// Not async-signal-safe: one caller at a time.
bool HasSeccompFilter();

// Tries each call in a child process that is thrown away, after `request` (if
// not null) was carried out there; gives those that failed or killed it. All of
// them if there can be no child. The child has a copy of the memory, so this
// costs what a fork costs. All signals must be blocked.
// Not async-signal-safe: waits for the child.
OptionalCallSet FindForbiddenCalls(const SeccompRequest* request);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SECCOMP_PROBE_H_
