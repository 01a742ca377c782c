// Writes one image's samples into a spool. Fenced: the recording calls run in
// the signal handler.
//
// Threads share the stack tree (nodes are only added, found through a leveled
// open-addressing index outside the file); each thread has its own counters, so
// in the steady state no cache line is written by two threads.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_WRITER_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_WRITER_H_

#include <cstdint>
#include <span>

#include "collectors/spool/spool_format.h"
#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::collectors {

// A node of the stack tree; its path to the root is a stack. 0 is no node.
using NodeId = uint32_t;

// What one thread records into. Lives outside the spool; owned by the caller,
// zeroed before first use.
struct ThreadLog;  // defined in collectors/spool/thread_log.h

// Facts of an image, written at start.
struct ImageInfo {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint64_t start_realtime_ns = 0;   // CLOCK_REALTIME
  uint64_t start_monotonic_ns = 0;  // CLOCK_MONOTONIC
  uint64_t period_ns = 0;
  const char* engine = "";      // "timer"
  const char* executable = "";  // absolute path
  // As in /proc/self/cmdline: arguments separated and ended by NUL.
  std::span<const char> command_line;
};

enum class SpoolStatus : uint8_t {
  kOk,
  kNotASpool,     // no or foreign magic
  kWrongVersion,  // a spool of another version
  kTooSmall,      // no room even for an image
  kNoMemory,      // mapping or populating failed
  kBadDescriptor,
};

class SpoolWriter {
 public:
  constexpr SpoolWriter() = default;
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Sizes an empty file and writes its header. Not async-signal-safe.
  [[nodiscard]] static SpoolStatus Create(int fd, uint64_t capacity_bytes);

  // Maps the spool behind `fd` (the caller closes it) and begins a new image.
  // Not async-signal-safe: allocates by mmap.
  [[nodiscard]] SpoolStatus Open(int fd, const ImageInfo& info);

  // Ends the image: CPU time of the process so far and the time, for readers
  // that compare. May be called again; the last call counts. Async-signal-safe.
  void NoteEnd(uint64_t monotonic_ns, uint64_t cpu_ns);

  // Unmaps. Nothing may record at that time. Not async-signal-safe.
  void Close();

  // False once the tool asked to stop. Async-signal-safe.
  bool sampling_wanted() const;

  // Records a module under its id, once per id. False: no room. Reads path and
  // build id of `module`. Async-signal-safe.
  bool AddModule(unwind::ModuleId id, const unwind::Module& module);

  // Begins a thread's log; false: no room. Async-signal-safe.
  [[nodiscard]] bool AddThread(ThreadLog& log, int32_t tid, const char* name);
  // The name last seen counts. Async-signal-safe.
  void SetThreadName(ThreadLog& log, const char* name);

  // The node of a whole stack, leaf first; adds what is new. The outermost
  // frame hangs below a reserved node that says how the walk ended. 0: no room.
  // Async-signal-safe. Any number of threads.
  NodeId AddStack(std::span<const unwind::Frame> frames, unwind::WalkEnd end);

  // Adds one sample of `weight` to (kind, stack) of this thread; false: no room
  // (call AddLoss). Async-signal-safe; only the thread that owns `log`.
  bool AddSample(ThreadLog& log, SampleKind kind, NodeId stack,
                 uint64_t weight);

  // Counts a sample that could not be kept. Async-signal-safe.
  void AddLoss(ThreadLog& log, LossCause cause, uint64_t weight);
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_WRITER_H_
