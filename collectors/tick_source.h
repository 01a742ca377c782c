// What makes one thread tick: a timer on its CPU clock, or a perf event.

#ifndef UNSPOOL_COLLECTORS_TICK_SOURCE_H_
#define UNSPOOL_COLLECTORS_TICK_SOURCE_H_

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "collectors/cpu_timer.h"
#include "collectors/perf_event.h"

namespace unspool::collectors {

// At most one of the two at a time. Changed by one thread at a time; Sent() may
// be asked meanwhile, by a tick.
class TickSource {
 public:
  constexpr TickSource() = default;
  TickSource(const TickSource&) = delete;
  TickSource& operator=(const TickSource&) = delete;

  // Makes a timer that ticks after `first_ns` of the thread's CPU time and then
  // each `period_ns`; see CpuTimer. Async-signal-safe.
  [[nodiscard]] bool StartTimer(int32_t tid, int signal, uint32_t cookie,
                                uint64_t first_ns, uint64_t period_ns);

  // Replaces the timer by an event of the calling thread; where there is none
  // to be had, the timer goes on. All signals must be blocked.
  // Async-signal-safe.
  [[nodiscard]] PerfObstacle StartEvent(const PerfEvent::Request& request);

  // True if this signal, which came to the calling thread, was sent by what is
  // there now; not the late one of a source before. Sequentially consistent:
  // see invariant 1 of SamplingEngine. Async-signal-safe.
  bool Sent(const siginfo_t& info) const;

  // Async-signal-safe.
  bool has_event() const { return event_.tid() != 0; }

  // No new ticks. Async-signal-safe, all.
  void Disarm();
  // And no more of those that are pending. Any number of times.
  void Delete();
  // True if it ticks as far as can be told; false for a thread that ended.
  bool IsArmed() const { return timer_.IsArmed(); }
  // For the child after fork, which has neither.
  void ForgetAfterFork();

 private:
  CpuTimer timer_;
  PerfEvent event_;
  // Set before the event is open; a gettid() would be a system call per tick.
  std::atomic<pthread_t> event_thread_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TICK_SOURCE_H_
