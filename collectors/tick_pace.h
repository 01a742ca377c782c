// What a tick of an event stands for, mostly without asking the thread's CPU
// clock: that system call takes longer than the walk of a stack.

#ifndef UNSPOOL_COLLECTORS_TICK_PACE_H_
#define UNSPOOL_COLLECTORS_TICK_PACE_H_

#include <cstdint>

namespace unspool::collectors {

// A thread's CPU time is at most the time that passes. So where less than one
// and a half periods passed between two ticks, one period of it ended, and no
// tick was throttled or merged. What is off by less than half a period each
// time is put right by the clock: with every kAskEvery'th tick, and with the
// first one that comes late. Of one thread; async-signal-safe.
class TickPace {
 public:
  static constexpr uint32_t kAskEvery = 64;

  // Does a tick at `now_ns` of CLOCK_MONOTONIC stand for one period? False: the
  // clock is to be asked.
  bool IsOnePeriod(uint64_t now_ns, uint64_t period_ns) {
    const uint64_t passed_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    const bool is_late = passed_ns >= period_ns + period_ns / 2;
    unasked_ = is_late ? 0 : (unasked_ + 1) % kAskEvery;
    return unasked_ != 0;
  }

 private:
  uint64_t last_ns_ = 0;  // of the last tick; the clock runs since the boot
  uint32_t unasked_ = 0;  // ticks since the clock was asked
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TICK_PACE_H_
