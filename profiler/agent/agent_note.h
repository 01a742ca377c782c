// How copies of the agent in one process know of each other (a program that is
// linked with libunspool.a may be run with libunspool.so preloaded), and how
// `unspool record` knows a program that has one: an ELF note of owner "unspool"
// and type kAgentNoteType, whose description is the distance, in bytes, from
// itself to a 32-bit word that is 1 while that copy samples.

#ifndef UNSPOOL_PROFILER_AGENT_AGENT_NOTE_H_
#define UNSPOOL_PROFILER_AGENT_AGENT_NOTE_H_

namespace unspool::profiler {

// For the others to see. Async-signal-safe.
void SetSampling(bool is_sampling);

// True if a copy of the agent other than this one samples the process.
// Not async-signal-safe: takes the loader's lock.
bool IsOtherCopySampling();

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_AGENT_NOTE_H_
