// Walkers side by side: walk/<walker>/<stack>/<depth of the chain>.
//
// A stack is `same` (one stack again and again), `random` (a new one of random
// functions before each walk) or `evicted` (16 MB touched before each walk).
// The counter `frames` is what one walk gave; report.py divides by it. The
// walker `sample` is our whole part of a sample; its `frames` is 1.

#include "bench/unwind/walk_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "bench/collectors/sampler.h"
#include "bench/unwind/chain.h"
#include "bench/unwind/walkers.h"

namespace unspool::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxDepth = 1000;
constexpr size_t kRoom = kMaxDepth + 64;
constexpr size_t kEvictionBytes = 16 << 20;
constexpr uint64_t kSeed = 20240229;

std::vector<uint64_t> Walk(const Walker& walker) {
  std::vector<uint64_t> pcs(kRoom);
  pcs.resize(walker.walk(pcs));
  return pcs;
}

// The frames from the innermost chain function's on. `count` of them.
std::vector<uint64_t> ChainPart(std::vector<uint64_t> pcs, uint64_t first,
                                size_t count) {
  const auto begin = std::find(pcs.begin(), pcs.end(), first);
  pcs.erase(pcs.begin(), begin);
  pcs.resize(std::min(pcs.size(), count));
  return pcs;
}

// All walkers agree on the chain's frames, and ours with libgcc to the root.
void CheckAtBottom(void* context) {
  const size_t depth = *static_cast<const size_t*>(context);
  const std::vector<uint64_t> by_frame_pointers = Walk(kWalkers[0]);
  // Behind this function's own and AtBottom's frame the chain begins.
  const uint64_t first = by_frame_pointers.at(2);
  const std::vector<uint64_t> expected =
      ChainPart(by_frame_pointers, first, depth);
  const std::vector<uint64_t> libgcc =
      ChainPart(Walk(kWalkers[2]), first, kRoom);
  for (const Walker& walker : kWalkers) {
    const std::vector<uint64_t> pcs = Walk(walker);
    const bool right = ChainPart(pcs, first, depth) == expected;
    const bool whole = walker.walk != kWalkers.back().walk ||
                       ChainPart(pcs, first, kRoom) == libgcc;
    if (expected.size() == depth && right && whole) continue;
    const std::string message =
        std::string(walker.name) + " differs at depth " + std::to_string(depth);
    Fail(message.c_str());
  }
}

void CheckDepth(size_t depth) {
  for (uint64_t seed = kSeed; seed < kSeed + 20; ++seed) {
    CallThroughChain(MakeChain(depth, seed), CheckAtBottom, &depth);
  }
}

struct Measurement {
  benchmark::State& state;
  const Walker& walker;
  std::array<uint64_t, kRoom> pcs{};
  size_t frames = 0;
  Clock::duration clock_cost{};  // of one pair of readings
  Clock::duration elapsed{};     // of the last walk
};

void LoopAtBottom(void* context) {
  auto& measurement = *static_cast<Measurement*>(context);
  for (auto _ : measurement.state) {
    measurement.frames = measurement.walker.walk(measurement.pcs);
    benchmark::DoNotOptimize(measurement.pcs);
  }
}

void TimeOneWalk(void* context) {
  auto& measurement = *static_cast<Measurement*>(context);
  const Clock::time_point begin = Clock::now();
  measurement.frames = measurement.walker.walk(measurement.pcs);
  measurement.elapsed = Clock::now() - begin;
}

Clock::duration ClockCost() {
  Clock::duration least = Clock::duration::max();
  for (int i = 0; i < 1000; ++i) {
    const Clock::time_point begin = Clock::now();
    least = std::min(least, Clock::now() - begin);
  }
  return least;
}

// `prepare` gives the chain for the next walk.
template <typename Prepare>
void TimeEachWalk(Measurement& measurement, Prepare prepare) {
  measurement.clock_cost = ClockCost();
  for (auto _ : measurement.state) {
    CallThroughChain(prepare(), TimeOneWalk, &measurement);
    const Clock::duration net = std::max(
        Clock::duration(1), measurement.elapsed - measurement.clock_cost);
    measurement.state.SetIterationTime(
        std::chrono::duration<double>(net).count());
  }
}

void Same(Measurement& measurement, size_t depth) {
  CallThroughChain(MakeChain(depth, kSeed), LoopAtBottom, &measurement);
}

void Random(Measurement& measurement, size_t depth) {
  uint64_t seed = kSeed;
  TimeEachWalk(measurement, [&] { return MakeChain(depth, ++seed); });
}

void Evicted(Measurement& measurement, size_t depth) {
  const Chain chain = MakeChain(depth, kSeed);
  static std::vector<uint8_t> memory(kEvictionBytes);
  TimeEachWalk(measurement, [&] {
    for (size_t i = 0; i < memory.size(); i += 64) ++memory[i];
    return chain;
  });
}

using Body = void (*)(Measurement& measurement, size_t depth);

// `walks` fixes how many are timed by hand; 0 leaves it to Google Benchmark.
// (It would go on until the walks alone fill its minimum time.)
void Register(const char* stack, Body body, const Walker& walker, size_t depth,
              int walks) {
  const std::string name = std::string("walk/") + walker.name + "/" + stack +
                           "/" + std::to_string(depth);
  auto run = [body, &walker, depth](benchmark::State& state) {
    RunOnOwnThread([&] {
      InitThread();
      const Recording recording;
      Measurement measurement{state, walker};
      body(measurement, depth);
      state.counters["frames"] = static_cast<double>(measurement.frames);
    });
  };
  auto* registered = benchmark::RegisterBenchmark(name.c_str(), run);
  if (walks > 0) registered->UseManualTime()->Iterations(walks);
}

}  // namespace

void RegisterWalks() {
  std::vector<const Walker*> walkers;
  for (const Walker& walker : kWalkers) walkers.push_back(&walker);
  walkers.push_back(&kSampler);
  for (const Walker* walker : walkers) {
    for (size_t depth : {10, 30, 100, 1000}) {
      Register("same", Same, *walker, depth, 0);
    }
    for (size_t depth : {30, 100}) {
      Register("random", Random, *walker, depth, 20000);
    }
    Register("evicted", Evicted, *walker, 30, 300);
  }
}

void CheckWalks() {
  RunOnOwnThread([] {
    InitThread();
    for (size_t depth : {1, 10, 30, 100, 1000}) CheckDepth(depth);
  });
}

}  // namespace unspool::bench
