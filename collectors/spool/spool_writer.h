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
#include <type_traits>

#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/module_log.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_status.h"
#include "collectors/spool/stack_tree.h"
#include "collectors/spool/thread_log.h"
#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::collectors {

// A node of the stack tree; its path to the root is a stack. 0 is no node.
using NodeId = uint32_t;

// Facts of an image, written at start.
struct ImageInfo {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint64_t start_realtime_ns = 0;   // CLOCK_REALTIME
  uint64_t start_monotonic_ns = 0;  // CLOCK_MONOTONIC
  uint64_t period_ns = 0;
  SampleClock clock = SampleClock::kCpu;
  char comm[16] = {};           // the process's name; ends in NUL
  const char* engine = "";      // "timer"
  const char* executable = "";  // absolute path
  // As in /proc/self/cmdline: arguments separated and ended by NUL.
  std::span<const char> command_line;
};

// May be a constinit global: nothing runs before main() or at exit. Between
// Open() and Close() every call is allowed; before and after, only
// sampling_wanted().
class SpoolWriter {
 public:
  constexpr SpoolWriter() = default;
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Sizes an empty file and writes its header; less than `capacity_bytes` where
  // RLIMIT_FSIZE says so. Seals a memfd that allows it against shrinking.
  // Not async-signal-safe: sets up.
  [[nodiscard]] static SpoolStatus Create(int fd, uint64_t capacity_bytes);

  // Maps the spool behind `fd` (the caller closes it) and begins a new image.
  // The mapping is not inherited by fork. Where the kernel cannot populate
  // pages (before Linux 5.14), up to kPreallocatedBytes of the file are
  // allocated now. After an error the object is as new. Not async-signal-safe:
  // allocates by mmap.
  [[nodiscard]] SpoolStatus Open(int fd, const ImageInfo& info);

  // Ends the image: CPU time of the process so far and the time, for readers
  // that compare. May be called again; the last call counts. Async-signal-safe.
  void NoteEnd(uint64_t monotonic_ns, uint64_t cpu_ns);

  // Unmaps. Nothing may record at that time. Not async-signal-safe: a handler
  // of another thread would fault.
  void Close();

  // For the child after fork, which has this object but not its mappings: makes
  // it as new, to be opened again. Logs of the parent's threads must not be
  // used with it. Async-signal-safe.
  void ForgetAfterFork();

  // False once the tool asked to stop, and while not open. Async-signal-safe.
  bool sampling_wanted() const;

  // The spool as mapped, for a reader in this process. Valid until Close().
  // Async-signal-safe.
  std::span<const uint8_t> bytes() const { return chunks_.bytes(); }

  // Records a module under its id, once per id; later calls do nothing. False:
  // no room, or an id ≥ kMaxModules. Frames of a module that is not recorded
  // are kept by absolute address. Async-signal-safe; any number of threads.
  bool AddModule(unwind::ModuleId id, const unwind::Module& module);

  // Begins a thread's log, which must be all zero. Takes nothing from the spool
  // before the thread's first sample or loss. `name` is cut to 15 bytes.
  // Async-signal-safe.
  void AddThread(ThreadLog& log, int32_t tid, const char* name);
  // The name last seen counts. Async-signal-safe; any thread.
  void SetThreadName(ThreadLog& log, const char* name);

  // The node of a whole stack, leaf first; adds what is new. The outermost
  // frame hangs below a reserved node that says how the walk ended. 0: no room
  // (call AddLoss). Async-signal-safe; any number of threads.
  NodeId AddStack(std::span<const unwind::Frame> frames, unwind::WalkEnd end);

  // Adds one sample of `weight` to (kind, stack) of this thread; false: no room
  // (call AddLoss). Async-signal-safe; only the thread that owns `log`, and not
  // from a handler that interrupted this call.
  bool AddSample(ThreadLog& log, SampleKind kind, NodeId stack,
                 uint64_t weight);

  // Counts a sample that could not be kept; always finds room.
  // Async-signal-safe; any thread.
  void AddLoss(ThreadLog& log, LossCause cause, uint64_t weight);

  // Adds CPU time that no sample stands for; without room it is a loss.
  // Async-signal-safe; any thread.
  void AddUnsampled(ThreadLog& log, uint64_t weight_ns);

 private:
  void Reset(bool unmap);
  SpoolStatus WriteImage(const ImageInfo& info);
  ThreadRecord* FindOrAddRecord(ThreadLog& log);
  bool AddCounterLevel(ThreadLog& log);
  CounterSlot* FindOrAddSlot(ThreadLog& log, SampleKind kind, NodeId stack);

  ChunkAllocator chunks_;
  StackTree stacks_;
  ModuleLog modules_;
  ImageRecord* image_ = nullptr;
};

static_assert(std::is_trivially_destructible_v<SpoolWriter>);

// What Open() allocates of the file where the kernel cannot populate pages.
inline constexpr uint64_t kPreallocatedBytes = 16 << 20;

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_WRITER_H_
