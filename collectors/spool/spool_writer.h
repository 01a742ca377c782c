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
#include "collectors/spool/image_log.h"
#include "collectors/spool/module_log.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_status.h"
#include "collectors/spool/stack_tree.h"
#include "collectors/spool/thread_log.h"
#include "unwind/frame.h"
#include "unwind/module.h"
#include "unwind/stack_audit.h"

namespace unspool::collectors {

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
  // The spool's first image writes its record now, unless it is lazy, so that a
  // spool can be read from then on; every other one takes nothing before its
  // first sample or loss. Where the kernel cannot populate pages (before Linux
  // 5.14), up to kPreallocatedBytes of the file are allocated now. After an
  // error the object is as new. Not async-signal-safe: allocates by mmap.
  [[nodiscard]] SpoolStatus Open(int fd, const ImageInfo& info,
                                 AtFork at_fork = AtFork::kUnmap);

  // Where AddStack() looks up modules that are not recorded yet. Module 0 is
  // the program, recorded with the image whether it has frames or not.
  // Nothing may record at that time. Async-signal-safe.
  void SetModules(const ModuleSource& modules);

  // Ends the image, if it recorded anything: CPU time of the process so far and
  // the time, for readers that compare. May be called again; the last call
  // counts. Async-signal-safe.
  void NoteEnd(uint64_t monotonic_ns, uint64_t cpu_ns);
  // Something records: how long an image ran, should it not get to its end.
  // Writes a few times a second at most. Any thread. Async-signal-safe.
  void NoteTime(uint64_t monotonic_ns);
  // True once there is a sample, a loss, or unsampled time of this image, or it
  // is the spool's first. Async-signal-safe.
  bool has_recorded() const { return image_.Find() != nullptr; }

  // From now on without a system call: the spool gets room for
  // kLastGrowthBytes more, and what does not fit there is lost. For programs
  // that are about to forbid the calls. Not async-signal-safe: one caller.
  void StopGrowing();

  // True, once for each of 32 `subjects` in all processes that record into the
  // spool: for lines that are said once. Async-signal-safe.
  bool IsFirstToSay(uint32_t subject);

  // Unmaps. Nothing may record at that time. Not async-signal-safe: a handler
  // of another thread would fault.
  void Close();

  // For the child after fork, where logs of the parent's threads must not be
  // used. ForgetAfterFork: makes this object as new, to be opened again.
  // BeginAfterFork: begins a new image in the parent's spool; only if that was
  // opened with AtFork::kKeep. The strings and the module source stay the
  // parent's. Async-signal-safe.
  void ForgetAfterFork();
  void BeginAfterFork(const ImageInfo& info);

  // False once the tool asked to stop, and while not open. Async-signal-safe.
  bool sampling_wanted() const;

  // What was recorded until now, for a reader in this process. Valid until
  // Close(). Async-signal-safe.
  std::span<const uint8_t> bytes() { return chunks_.bytes(); }

  // Records a module under its id, once per id; later calls do nothing. False:
  // no room, or an id ≥ kMaxModules. Frames of a module that is neither
  // recorded nor known to the module source are kept by absolute address.
  // Async-signal-safe; any number of threads.
  bool AddModule(unwind::ModuleId id, const unwind::Module& module);

  // Begins a thread's log, which must be all zero or of a thread that ended.
  // Takes nothing from the spool before the thread's first sample or loss.
  // `name` is cut to 15 bytes. Async-signal-safe.
  void AddThread(ThreadLog& log, int32_t tid, const char* name);
  // The name last seen counts; the main thread's is the process's too.
  // Async-signal-safe; the thread itself, or while it cannot record.
  void SetThreadName(ThreadLog& log, const char* name);

  // The node of a whole stack, leaf first; adds what is new, modules included.
  // The outermost frame hangs below a reserved node that says how the walk
  // ended. 0: no room (call AddLoss). Async-signal-safe; any number of threads.
  NodeId AddStack(std::span<const unwind::Frame> frames, unwind::WalkEnd end);
  // The same. `path` is that of the thread's last stack, whose outer frames are
  // not looked up again as far as they are the same, and becomes this one's, if
  // it has room; of `same` frames that is known.
  NodeId AddStack(std::span<const unwind::Frame> frames, unwind::WalkEnd end,
                  StackPath& path, size_t same);

  // Adds one sample of `weight` to (kind, stack) of this thread; false: no room
  // (call AddLoss). Async-signal-safe; only the thread that owns `log`, and not
  // from a handler that interrupted this call.
  bool AddSample(ThreadLog& log, SampleKind kind, NodeId stack,
                 uint64_t weight);

  // Counts a sample that could not be kept; always finds room.
  // Async-signal-safe; any thread.
  void AddLoss(ThreadLog& log, LossCause cause, uint64_t weight);

  // Counts a stack that was walked twice. Async-signal-safe; any thread.
  void AddAudit(unwind::AuditFinding finding);

  // Adds CPU time that no sample stands for; without room it is a loss.
  // Async-signal-safe; any thread.
  void AddUnsampled(ThreadLog& log, uint64_t weight_ns);

 private:
  // Of the frame before: callers are mostly in the module of their callees.
  struct ModuleBias {
    unwind::ModuleId id = unwind::kNoModule;
    bool is_known = false;
    uint64_t bias = 0;
  };

  void Reset(bool unmap);
  void AddProgram();
  size_t CountKnown(std::span<const unwind::Frame> frames, unwind::WalkEnd end,
                    const StackPath& path, size_t same);
  void SetFrame(const unwind::Frame& frame, ModuleBias& last, PathNode* node);
  bool FindOrAddBias(unwind::ModuleId id, uint64_t* bias);
  ThreadRecord* FindOrAddRecord(ThreadLog& log);
  ThreadRecord* TakeOver(ThreadLog& log);
  LossCounter& LossOf(ThreadLog& log, LossCause cause);
  bool AddCounterLevel(ThreadLog& log);
  // A slot that is returned for the first time has its kind, and no node yet.
  CounterSlot* FindOrAddSlot(ThreadLog& log, SampleKind kind, NodeId stack);
  static CounterLevel CounterWindow(ThreadLog& log, uint32_t level,
                                    uint16_t kind, NodeId stack);

  ChunkAllocator chunks_;
  StackTree stacks_;
  ModuleLog modules_;
  ModuleSource module_source_;
  ImageLog image_;
  uint32_t generation_ = 0;  // counts openings
  std::atomic<uint32_t> records_ = 0;
};

static_assert(std::is_trivially_destructible_v<SpoolWriter>);

// What StopGrowing() leaves room for.
inline constexpr uint64_t kLastGrowthBytes = 4 << 20;

// What Open() allocates of the file where the kernel cannot populate pages.
inline constexpr uint64_t kPreallocatedBytes = 16 << 20;

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_WRITER_H_
