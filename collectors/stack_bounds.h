// Where a thread's stack lies, without pthread_getattr_np(), which allocates.

#ifndef UNSPOOL_COLLECTORS_STACK_BOUNDS_H_
#define UNSPOOL_COLLECTORS_STACK_BOUNDS_H_

#include <pthread.h>

#include <cstdint>

#include "unwind/self_unwinder.h"

namespace unspool::collectors {

// The main thread's stack: up to where the kernel put the arguments, down to
// RLIMIT_STACK (at most 1 GiB), which the kernel keeps free below it when it
// places mappings (mmap_base()). Not async-signal-safe: getrlimit is not listed
// by POSIX; any thread may call.
unwind::StackBounds MainThreadStack();

// What pthread_create() was asked for.
struct StackRequest {
  uint64_t low = 0;  // of a stack that the program supplied; 0: glibc maps one
  uint64_t size = 0;
};

// Reads `attributes`, null for the defaults. Not async-signal-safe: glibc takes
// a lock to read its defaults.
StackRequest RequestedStack(const pthread_attr_t* attributes);

// The bounds of the calling thread, which was created with `request`. glibc
// puts the thread control block, which pthread_self() points to, at the top of
// the stack, above static TLS; that is as far up as frames go.
// Async-signal-safe.
unwind::StackBounds NewThreadStack(const StackRequest& request);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_STACK_BOUNDS_H_
