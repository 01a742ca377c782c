// One walk, timed, at the bottom of a chain.

#ifndef UNSPOOL_BENCH_UNWIND_TIMED_WALK_H_
#define UNSPOOL_BENCH_UNWIND_TIMED_WALK_H_

#include <algorithm>
#include <vector>

#include "bench/unwind/chain.h"
#include "bench/unwind/interruption.h"
#include "bench/unwind/stopwatch.h"
#include "bench/unwind/walkers.h"

namespace unspool::bench {

// The chain_context() of TimeWalk().
struct TimedWalk {
  const Walker& walker;
  std::vector<uint64_t> pcs;  // as many as it may give
  Point point = Point::kHere;
  size_t frames = 0;  // of the last walk
  Stopwatch watch{};  // over the last walk

  TimedWalk(const Walker& walker_of_all, size_t room)
      : walker(walker_of_all), pcs(room) {}
};

// A ChainFunction; each number makes another, so another PC.
template <int kNumber>
[[gnu::noinline]] void TimeWalk(const void* const*) {
  auto& walk = *static_cast<TimedWalk*>(chain_context());
  CallSlots slots;
  ucontext_t context{};
  CaptureContext(context);
  MoveTo(walk.point, slots, context);
  walk.watch.Start();
  walk.frames = walk.walker.walk(context, walk.pcs);
  walk.watch.Stop();
  asm volatile("" ::"i"(kNumber));  // else GCC makes one of all
}

// Reorders `seconds`, of which there is one at least.
inline double MedianNs(std::vector<double>& seconds) {
  const auto middle =
      seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle * 1e9;
}

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_TIMED_WALK_H_
