// Whether the program's calls of exec come to us.

#ifndef UNSPOOL_PROFILER_AGENT_SEES_EXEC_H_
#define UNSPOOL_PROFILER_AGENT_SEES_EXEC_H_

namespace unspool::profiler {

// True in a libunspool.so that stands in front of libc: preloaded, or linked by
// the program. Not there (a null pointer) in libunspool.a.
// Not async-signal-safe: asks the loader.
[[gnu::weak]] bool SeesExec();

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SEES_EXEC_H_
