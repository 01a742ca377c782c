// What the dynamic linker sees of libunspool.so, with unspool.map.

#ifndef UNSPOOL_PROFILER_AGENT_EXPORT_H_
#define UNSPOOL_PROFILER_AGENT_EXPORT_H_

#define UNSPOOL_EXPORT extern "C" __attribute__((visibility("default")))

#endif  // UNSPOOL_PROFILER_AGENT_EXPORT_H_
