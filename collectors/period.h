// Arithmetic of ticks: periods, weights, and the random start of a thread's
// first period.

#ifndef UNSPOOL_COLLECTORS_PERIOD_H_
#define UNSPOOL_COLLECTORS_PERIOD_H_

#include <cstdint>

namespace unspool::collectors {

inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Nanoseconds between ticks at `frequency_hz` ≥ 1, rounded down.
// Async-signal-safe.
constexpr uint64_t PeriodNs(uint32_t frequency_hz) {
  return kNsPerSecond / frequency_hz;
}

// The CPU time that one tick stands for. `overrun` is si_overrun: how many more
// periods ended before the kernel could deliver this tick
// (timer_getoverrun(2)). Async-signal-safe.
constexpr uint64_t TickWeightNs(uint64_t period_ns, int overrun) {
  return period_ns * (1 + static_cast<uint64_t>(overrun < 0 ? 0 : overrun));
}

// The weight of a sample whose thread has used `rest_ns` beyond the weights of
// those before: where these were a little too much (tick_pace.h) that is below
// 1, and yet no sample is for nothing. Async-signal-safe.
constexpr uint64_t RestWeightNs(int64_t rest_ns) {
  return rest_ns < 1 ? 1 : static_cast<uint64_t>(rest_ns);
}

// One step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Async-signal-safe.
constexpr uint64_t NextRandom(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// When a thread's timer is to expire first: uniform in (0, period_ns], so that
// the expected number of ticks of a thread that lives for any time T is T /
// period. Threads shorter than a period count, on average, for what they used;
// one that started afresh with a whole period would never tick. Less half a
// kernel tick, which is how much later the kernel notices on average: of 1,000
// threads of 3 ms each, at 100 Hz and ticks of 4 ms, 272 were sampled with that
// and 109 without (300 would be right). At least 1. Async-signal-safe.
constexpr uint64_t FirstPeriodNs(uint64_t period_ns, uint64_t random,
                                 uint64_t kernel_tick_ns) {
  const uint64_t first_ns = 1 + random % period_ns;
  const uint64_t late_ns = kernel_tick_ns / 2;
  return first_ns > late_ns ? first_ns - late_ns : 1;
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_PERIOD_H_
