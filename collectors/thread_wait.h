// How a thread of this process waits, as the kernel tells without stopping it:
// /proc/self/task/TID/syscall (proc(5); fs/proc/base.c, proc_pid_syscall) and
// schedstat (Documentation/scheduler/sched-stats.rst).

#ifndef UNSPOOL_COLLECTORS_THREAD_WAIT_H_
#define UNSPOOL_COLLECTORS_THREAD_WAIT_H_

#include <cstdint>
#include <span>

#include "unwind/arch/arch.h"

namespace unspool::collectors {

struct ThreadWait {
  enum class State : uint8_t {
    kUnknown,   // it is gone, or /proc cannot be read
    kRunnable,  // on a CPU, or waiting for one
    kWaiting,   // `registers` are known
    kEnded,     // the main thread, after pthread_exit()
  };

  State state = State::kUnknown;
  // PC and SP in the program's code; in a system call its arguments, too.
  unwind::Registers registers;
};

// Parses the file `syscall`: "running", or "NR ARGUMENTS… SP PC", or "-1 SP PC"
// outside of system calls (in a page fault). Async-signal-safe.
ThreadWait ParseThreadWait(std::span<const char> text);

// A descriptor to read thread `tid`'s waits from, again and again; it stays
// good when the program gives up its rights or its root directory. -1: it is
// gone, or /proc cannot be read. Async-signal-safe.
int OpenThreadWait(int32_t tid);
// kUnknown for -1. Async-signal-safe.
ThreadWait ReadThreadWait(int fd);

// For how long thread `tid` was runnable and had no CPU, in ns, up to when it
// got one last; 0 if the kernel does not tell. Async-signal-safe.
uint64_t ReadRunDelayNs(int32_t tid);
// The same out of the file `schedstat`: "CPU_NS RUN_DELAY_NS TIMESLICES".
// Async-signal-safe.
uint64_t ParseRunDelayNs(std::span<const char> text);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_THREAD_WAIT_H_
