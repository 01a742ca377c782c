// Times single walks by the processor's time-stamp counter: steady_clock costs
// what a walk of ten frames does.

#ifndef UNSPOOL_BENCH_UNWIND_STOPWATCH_H_
#define UNSPOOL_BENCH_UNWIND_STOPWATCH_H_

#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace unspool::bench {

class Stopwatch {
 public:
  // Takes 20 ms to find the counter's rate and what a reading costs.
  Stopwatch() {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const uint64_t ticks = Read();
    while (Clock::now() - begin < std::chrono::milliseconds(20)) {
    }
    const std::chrono::duration<double> passed = Clock::now() - begin;
    seconds_per_tick_ = passed.count() / static_cast<double>(Read() - ticks);
    for (int i = 0; i < 1000; ++i) {
      Start();
      Stop();
      cost_ = std::min(cost_, ticks_);
    }
  }

  // Neither lets what stands before it, or behind, be run meanwhile.
  void Start() { ticks_ = Read(); }
  void Stop() { ticks_ = Read() - ticks_; }

  // Between the last Start() and Stop(), less what these cost.
  double seconds() const {
    return seconds_per_tick_ *
           static_cast<double>(ticks_ > cost_ ? ticks_ - cost_ : 1);
  }

 private:
  static uint64_t Read() {
    _mm_lfence();
    const uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
  }

  uint64_t ticks_ = 0;
  uint64_t cost_ = UINT64_MAX;
  double seconds_per_tick_ = 0;
};

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_STOPWATCH_H_
