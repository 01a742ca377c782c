// What we know of one thread of the program, and the memory to walk and record
// its stacks in.

#ifndef UNSPOOL_COLLECTORS_THREAD_STATE_H_
#define UNSPOOL_COLLECTORS_THREAD_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/mapping.h"
#include "collectors/spool/stack_tree.h"
#include "collectors/spool/thread_log.h"
#include "collectors/stack_bounds.h"
#include "collectors/task_list.h"
#include "collectors/tick_brake.h"
#include "collectors/tick_pace.h"
#include "collectors/tick_source.h"
#include "unwind/arch/arch.h"
#include "unwind/frame.h"
#include "unwind/self_unwinder.h"
#include "unwind/stack_memo.h"
#include "unwind/walk_scratch.h"

namespace unspool::collectors {

// Who may touch what: "handler" is code on the thread itself while `busy` is
// set; "lock" is code that holds the engine's lock.
struct ThreadState {
  // A tick takes an eighth of it (the stack check in tests/checks), and several
  // times that in unoptimized code. Only what was used is ever backed by
  // memory.
  static constexpr size_t kHandlerStackBytes = 32 << 10;

  using Memo = unwind::StackMemo<unwind::NativeArch>;

  // A thread's start routine and its argument, kept from pthread_create() to
  // the new thread.
  struct Start {
    void* (*routine)(void*) = nullptr;
    void* argument = nullptr;
  };

  // The ThreadTable's.
  uint32_t index = 0;
  std::atomic<uint32_t> next_free = 0;  // index + 1

  // pthread_self() of who was told to Begin with this state; 0: nobody was.
  std::atomic<uint64_t> self = 0;

  // Lock. Fixed for a thread's time.
  Start start;
  StackRequest stack_request;
  unwind::StackBounds stack;
  uint64_t cpu_at_start_ns = 0;  // of the thread, when its sampling began
  bool is_found = false;         // by looking: its end may go unnoticed
  bool seems_blocked = false;    // its signal, when last looked at
  bool had_source = false;       // it ticked, or would have
  bool lacks_event = false;      // there was none to be had for it
  int signal = 0;                // that its source sends
  uint32_t max_depth = 0;
  Mapping memory;  // the handler's stack, and above it room for stacks

  TickSource source;               // changed under the lock, asked by ticks
  std::atomic<uint32_t> busy = 0;  // set by the handler, waited for by others

  // Handler; atomic for those who read totals meanwhile.
  std::atomic<uint64_t> samples = 0;
  std::atomic<uint64_t> losses = 0;
  std::atomic<uint64_t> weight_ns = 0;  // of samples and losses

  // Handler.
  TaskName name{};  // as last given to the spool
  ThreadLog log;
  TickBrake brake;
  TickPace pace;
  Memo memo;
  StackPath path;  // of the memo's stack, but for one that was audited

  // The memory that stacks of `depth` frames need: the last one and its nodes,
  // and one of an audit. False: there is none.
  bool Reserve(uint32_t depth) {
    max_depth = depth;
    const size_t bytes =
        kHandlerStackBytes +
        (depth + Memo::StorageFor(depth)) * sizeof(unwind::Frame) +
        depth * sizeof(PathNode);
    if (memory.size() < bytes && !memory.Allocate(bytes)) return false;
    memo = Memo(memo_frames(), depth);
    path = {nodes()};
    return true;
  }
  void* handler_stack_top() const {
    return static_cast<char*>(memory.data()) + kHandlerStackBytes;
  }
  std::span<unwind::Frame> audit_frames() const {
    return {static_cast<unwind::Frame*>(handler_stack_top()), max_depth};
  }
  std::span<unwind::Frame> memo_frames() const {
    return {audit_frames().data() + max_depth, Memo::StorageFor(max_depth)};
  }
  // Next to where the last stack's frames are.
  std::span<PathNode> nodes() const {
    const std::span<unwind::Frame> frames = memo_frames();
    return {reinterpret_cast<PathNode*>(frames.data() + frames.size()),
            max_depth};
  }

  // In zeroed memory, which is a valid scratch as it is: half of its pages are
  // for odd stacks only, and construction would touch them all.
  ThreadState() {}
  union {
    unwind::WalkScratch scratch;  // Handler
  };
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_THREAD_STATE_H_
