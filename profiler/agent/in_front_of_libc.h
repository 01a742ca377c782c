// Whether the program's calls of what libunspool.so defines come to us.

#ifndef UNSPOOL_PROFILER_AGENT_IN_FRONT_OF_LIBC_H_
#define UNSPOOL_PROFILER_AGENT_IN_FRONT_OF_LIBC_H_

namespace unspool::profiler {

// True in a libunspool.so that was preloaded, or that the program is linked
// with; false in one that was loaded later. Not there (a null pointer) in
// libunspool.a, which defines nothing of libc's.
// Not async-signal-safe: asks the loader.
[[gnu::weak]] bool IsInFrontOfLibc();

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_IN_FRONT_OF_LIBC_H_
