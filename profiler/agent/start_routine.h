// What a new thread runs before the program's own start routine.

#ifndef UNSPOOL_PROFILER_AGENT_START_ROUTINE_H_
#define UNSPOOL_PROFILER_AGENT_START_ROUTINE_H_

#include "collectors/thread_state.h"

namespace unspool::profiler {

// Makes ends of threads known; the first call does. In the thread that creates:
// in the new one ThreadSanitizer's pthread_once() would crash, which waits for
// its own start routine to set the thread up. Not async-signal-safe: takes a
// lock.
void PrepareThreadEnds();

// The calling thread is sampled from now on, until it ends. Gives what to run:
// `state` is not the thread's to read any more.
// Not async-signal-safe: takes a lock.
collectors::ThreadState::Start EnterThread(collectors::ThreadState& state);

// A start routine for pthread_create(): `state` is a ThreadState. Enters the
// thread, then jumps to the program's start routine, whose caller on the stack
// is libc as if we were not there. Not async-signal-safe: see EnterThread.
void* StartRoutine(void* state);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_START_ROUTINE_H_
