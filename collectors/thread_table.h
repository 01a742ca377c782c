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
// All but FindByIndex() under the engine's lock; FindByIndex() by ticks only,
// which come after a first Acquire().
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
  // threads, at two to four bytes a cycle.
  ThreadState* FindByTid(int32_t tid);
  int32_t tid(const ThreadState& state) const {
    return slots_->tids[state.index];
  }
  void set_tid(const ThreadState& state, int32_t tid) {
    slots_->tids[state.index] = tid;
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
  uint32_t used() const { return used_; }

  // Calls visit(ThreadState&) for each state in use but kStarting ones; it may
  // release that state. Async-signal-safe if `visit` is.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (uint32_t i = 0; i < mapped_; ++i) {
      if (slots_->tids[i] > 0) visit(*At(i));
    }
  }

 private:
  // 384 KiB of zeroes at first, of which a process touches what it has threads
  // for.
  struct Slots {
    std::array<std::atomic<ThreadState*>, kMaxThreads> states;
    std::array<int32_t, kMaxThreads> tids;  // 0: free
  };

  ThreadState* At(uint32_t index) const {
    return slots_->states[index].load(std::memory_order_relaxed);
  }
  ThreadState* MapNew();

  Slots* slots_ = nullptr;
  uint32_t mapped_ = 0;  // states [0, mapped_) are there
  uint32_t used_ = 0;
  ThreadState* free_ = nullptr;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_THREAD_TABLE_H_
