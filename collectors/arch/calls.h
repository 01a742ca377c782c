// Two ways of calling a function that C++ has none for; the assembly is in the
// architecture's folder.

#ifndef UNSPOOL_COLLECTORS_ARCH_CALLS_H_
#define UNSPOOL_COLLECTORS_ARCH_CALLS_H_

#include <cstdint>

// Calls `function(argument)` in a child process of clone(2) with `flags`, which
// have CLONE_VM and CLONE_VFORK: the child shares the caller's stack while the
// caller waits for its end. Returns the child's pid or -errno; the caller reaps
// it. All signals must be blocked. Async-signal-safe.
extern "C" int64_t unspool_call_in_child(uint64_t flags,
                                         void (*function)(void*),
                                         void* argument);

// Calls `function(argument)` on the stack that ends at `stack_top`, a multiple
// of 16, with 16 bytes of the caller's own; a walk from there reaches the
// caller. Async-signal-safe.
extern "C" void unspool_call_on_stack(void (*function)(void*), void* argument,
                                      void* stack_top);

#endif  // UNSPOOL_COLLECTORS_ARCH_CALLS_H_
