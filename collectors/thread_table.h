// Every ThreadState of the process, in use or free, by index and by thread id.

#ifndef UNSPOOL_COLLECTORS_THREAD_TABLE_H_
#define UNSPOOL_COLLECTORS_THREAD_TABLE_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "collectors/thread_state.h"

namespace unspool::collectors {

// States are mapped when first needed, handed out again after Release(), and
// never unmapped: whoever holds a pointer or an index may always look at it.
// Acquire() and Release() are lock-free, but for the first Acquire(), which
// comes before all else; a state is its acquirer's until it has a thread's id.
// FindByIndex() is for ticks, which come later. All others are called under
// the engine's lock.
class ThreadTable {
 public:
  static constexpr uint32_t kMaxThreads = 1 << 15;
  // The id of a state whose thread does not run yet.
  static constexpr int32_t kStarting = -1;

  constexpr ThreadTable() = default;
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;

  // A state as new for thread `tid` > 0 or kStarting; nullptr: no memory, or
  // kMaxThreads. Async-signal-safe.
  ThreadState* Acquire(int32_t tid);
  // Async-signal-safe.
  void Release(ThreadState& state);

  // nullptr if there is none. Async-signal-safe; linear in the number of
  // threads.
  ThreadState* FindByTid(int32_t tid);
  int32_t tid(const ThreadState& state) const { return TidAt(state.index); }
  void set_tid(const ThreadState& state, int32_t tid) {
    slots_->tids[state.index].store(tid, std::memory_order_relaxed);
  }

  // nullptr for indexes not given out. Any thread, no lock. Async-signal-safe.
  ThreadState* FindByIndex(uint32_t index) const {
    return index < kMaxThreads
               ? slots_->states[index].load(std::memory_order_acquire)
               : nullptr;
  }

  // The state in use whose known stack ends at `high`; nullptr: none.
  // Async-signal-safe.
  ThreadState* FindByStack(uint64_t high);

  // For the child after fork, whatever other threads were doing with the table:
  // `own` is in use, as new but for its stack; nullptr: none is. All others are
  // given up and stay mapped, because the program may know their addresses.
  // Async-signal-safe.
  void KeepAfterFork(ThreadState* own);

  // States in use, kStarting ones included. Async-signal-safe.
  uint32_t used() const { return used_.load(std::memory_order_relaxed); }

  // Calls visit(ThreadState&) for each state in use but kStarting ones; it may
  // release that state. Async-signal-safe if `visit` is.
  template <typename Visit>
  void ForEach(Visit visit) {
    const uint32_t mapped = mapped_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < mapped; ++i) {
      if (TidAt(i) > 0) visit(*At(i));
    }
  }

 private:
  // 384 KiB of zeroes at first, of which a process touches what it has threads
  // for.
  struct Slots {
    std::array<std::atomic<ThreadState*>, kMaxThreads> states;
    std::array<std::atomic<int32_t>, kMaxThreads> tids;  // 0: free
  };

  ThreadState* At(uint32_t index) const {
    return slots_->states[index].load(std::memory_order_relaxed);
  }
  int32_t TidAt(uint32_t index) const {
    return slots_->tids[index].load(std::memory_order_relaxed);
  }
  ThreadState* PopFree();
  void PushFree(ThreadState& state);
  ThreadState* MapNew();

  Slots* slots_ = nullptr;
  // States [0, mapped_) were given out; one is nullptr where there was no
  // memory, or for a moment.
  std::atomic<uint32_t> mapped_{0};
  std::atomic<uint32_t> used_{0};
  // The first free state's index + 1, and above it a count of changes, so that
  // who read an old head notices. 0: none.
  std::atomic<uint64_t> free_{0};
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_THREAD_TABLE_H_
