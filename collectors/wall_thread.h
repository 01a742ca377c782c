// What the wall clock knows of one thread, and how it shares a thread's waiting
// time out.

#ifndef UNSPOOL_COLLECTORS_WALL_THREAD_H_
#define UNSPOOL_COLLECTORS_WALL_THREAD_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectors/spool/spool_writer.h"
#include "collectors/spool/thread_log.h"
#include "collectors/task_list.h"

namespace unspool::collectors {

struct WallThread {
  int32_t tid = 0;        // 0: free
  bool is_ended = false;  // the main thread, after pthread_exit()
  uint32_t gap = 1;       // rounds from one look to the next
  uint64_t next_round = 0;
  uint64_t listed_round = 0;  // when /proc had it last

  // As of the last look.
  uint64_t seen_ns = 0;
  uint64_t cpu_ns = 0;
  uint64_t run_delay_ns = 0;
  NodeId stack = 0;  // where it waited; 0: not known
  int wait_fd = -1;  // OpenThreadWait()
  // Time that passed, that it did not run, and that is not recorded yet. Below
  // 0 by what one clock is ahead of the other.
  int64_t owed_ns = 0;

  uint32_t samples = 0;
  TaskName name{};
  ThreadLog log;
};

// Waiting time that was owed, by what it is recorded as.
struct WaitShares {
  uint64_t runnable_ns = 0;  // without a CPU
  uint64_t before_ns = 0;    // where the thread waited at the look before
  uint64_t after_ns = 0;     // where it waits now
  int64_t owed_ns = 0;       // to be recorded later
};

// Shares `owed_ns` out; of these the thread was without a CPU, though it could
// have run, for `run_delay_ns`. Nobody saw when between two looks it went from
// one wait to another: each gets half, so that neither a long wait that is
// looked at seldom nor a short one that is looked at often gets too much.
// Async-signal-safe.
constexpr WaitShares ShareWait(int64_t owed_ns, uint64_t run_delay_ns,
                               bool has_before, bool has_after) {
  WaitShares shares;
  shares.owed_ns = owed_ns;
  if (owed_ns <= 0) return shares;
  const auto owed = static_cast<uint64_t>(owed_ns);
  shares.runnable_ns = run_delay_ns < owed ? run_delay_ns : owed;
  const uint64_t rest = owed - shares.runnable_ns;
  shares.owed_ns = 0;
  if (has_before && has_after) {
    shares.before_ns = rest / 2;
    shares.after_ns = rest - shares.before_ns;
  } else if (has_before) {
    shares.before_ns = rest;
  } else if (has_after) {
    shares.after_ns = rest;
  } else {
    shares.owed_ns = static_cast<int64_t>(rest);
  }
  return shares;
}

// All threads that are watched. One thread uses it.
class WallThreadTable {
 public:
  static constexpr uint32_t kMaxThreads = 1 << 15;

  constexpr WallThreadTable() = default;
  WallThreadTable(const WallThreadTable&) = delete;
  WallThreadTable& operator=(const WallThreadTable&) = delete;

  // A new entry for `tid`; nullptr: no memory, or kMaxThreads. Memory is never
  // given back. Async-signal-safe.
  WallThread* Add(int32_t tid);
  // Async-signal-safe.
  void Release(WallThread& thread);
  // nullptr if there is none. Fast if calls come in the order of the table.
  // Async-signal-safe.
  WallThread* Find(int32_t tid);
  // Frees all entries. Async-signal-safe.
  void Clear();

  // Entries in use. Async-signal-safe.
  uint32_t used() const { return used_; }

  // Calls visit(WallThread&) for each; it may release that one.
  // Async-signal-safe if `visit` is.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (uint32_t i = 0; i < end_; ++i) {
      if (At(i).tid != 0) visit(At(i));
    }
  }

 private:
  static constexpr uint32_t kBlockSize = 64;
  using Block = std::array<WallThread, kBlockSize>;

  WallThread& At(uint32_t i) {
    return (*blocks_[i / kBlockSize])[i % kBlockSize];
  }

  std::array<Block*, kMaxThreads / kBlockSize> blocks_{};
  uint32_t end_ = 0;  // entries [0, end_) are or were in use
  uint32_t used_ = 0;
  uint32_t hint_ = 0;  // where Find() looks first
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_WALL_THREAD_H_
