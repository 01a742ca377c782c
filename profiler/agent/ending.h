// The end of the process as the agent sees it.

#ifndef UNSPOOL_PROFILER_AGENT_ENDING_H_
#define UNSPOOL_PROFILER_AGENT_ENDING_H_

namespace unspool::profiler {

// Ends the recording, if this process has one, writes the profile, and says
// what went wrong. On a stack of its own: the program may end on a signal stack
// of a few KiB. Does nothing in the child of a vfork. Async-signal-safe but for
// words about what went wrong: takes no memory from malloc(), and who holds a
// lock of ours blocks signals.
void EndRecording();

// Has EndRecording() called by quick_exit(3), too; exit(3) calls it anyway.
// Not async-signal-safe: libc keeps a list.
void EndRecordingAtQuickExit();

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_ENDING_H_
