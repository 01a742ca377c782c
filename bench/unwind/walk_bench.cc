// Walkers side by side: walk/<walker>/<stack>/<depth of the chain>. Counters:
// `frames` that one walk gave, `median_ns` that it took (the mean, which Google
// Benchmark prints, has other processes in it). The walker `sample` is our
// whole handler, and its `frames` is 1. README.md says what the stacks are.

#include "bench/unwind/walk_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectors/sampler.h"
#include "bench/unwind/chain.h"
#include "bench/unwind/interruption.h"
#include "bench/unwind/timed_walk.h"
#include "bench/unwind/walk_check.h"
#include "bench/unwind/walkers.h"

namespace unspool::bench {
namespace {

constexpr size_t kMaxDepth = 1000;
constexpr size_t kRoom = kMaxDepth + 64;
constexpr size_t kEvictionBytes = 16 << 20;
constexpr uint64_t kSeed = 20240229;
constexpr size_t kShifts = 61;  // places for a stack, 16 bytes apart
constexpr size_t kTops = 64;    // that change above one stack
constexpr size_t kBatch = 8;    // walks of one stack that are timed at once

struct Measurement : TimedWalk {
  benchmark::State& state;
  std::vector<Chain> tops{};
  std::vector<double> seconds{};  // of each walk

  Measurement(benchmark::State& state_of_run, const Walker& walker_of_run)
      : TimedWalk(walker_of_run, kRoom), state(state_of_run) {}

  void Add(double walk_seconds) {
    state.SetIterationTime(walk_seconds);
    seconds.push_back(walk_seconds);
  }
  // For CallThroughChain(), as TimeWalk() wants it.
  void* context() { return static_cast<TimedWalk*>(this); }
};

Measurement& Here() {
  return static_cast<Measurement&>(*static_cast<TimedWalk*>(chain_context()));
}

void LoopAtBottom(const void* const*) {
  Measurement& measurement = Here();
  ucontext_t context{};
  CaptureContext(context);
  for (auto _ : measurement.state) {
    measurement.watch.Start();
    for (size_t i = 0; i < kBatch; ++i) {
      measurement.frames = measurement.walker.walk(context, measurement.pcs);
    }
    measurement.watch.Stop();
    measurement.Add(measurement.watch.seconds() / kBatch);
  }
}

constexpr std::array<ChainFunction, 4> kTimers = {&TimeWalk<0>, &TimeWalk<1>,
                                                  &TimeWalk<2>, &TimeWalk<3>};

// `walk` walks one stack, by TimeWalk().
template <typename Walk>
void TimeEachWalk(Measurement& measurement, Walk walk) {
  for (auto _ : measurement.state) {
    walk();
    measurement.Add(measurement.watch.seconds());
  }
}

void Same(Measurement& measurement, size_t depth) {
  CallThroughChain(MakeChain(Layout::kMixed, depth, kSeed), LoopAtBottom,
                   measurement.context());
}

// The same functions each time, at another place.
void Warm(Measurement& measurement, Layout layout, size_t depth) {
  const Chain chain = MakeChain(layout, depth, kSeed);
  size_t shift = 0;
  const auto walk = [&] {
    shift = (shift + 7) % kShifts;
    CallThroughChain(chain, kTimers[0], measurement.context(), shift);
  };
  for (size_t i = 0; i < kShifts; ++i) walk();
  TimeEachWalk(measurement, walk);
}

void Random(Measurement& measurement, size_t depth) {
  uint64_t seed = kSeed;
  TimeEachWalk(measurement, [&] {
    CallThroughChain(MakeChain(Layout::kMixed, depth, ++seed), kTimers[0],
                     measurement.context());
  });
}

void Evicted(Measurement& measurement, size_t depth) {
  const Chain chain = MakeChain(Layout::kMixed, depth, kSeed);
  static std::vector<uint8_t> memory(kEvictionBytes);
  TimeEachWalk(measurement, [&] {
    for (size_t i = 0; i < memory.size(); i += 64) ++memory[i];
    CallThroughChain(chain, kTimers[0], measurement.context());
  });
}

// Frames that are the timing function's and those of a chain below the rest.
void LoopOverTops(const void* const*) {
  Measurement& measurement = Here();
  size_t walks = 0;
  const auto walk = [&] {
    const size_t number = walks++;
    CallThroughChain(measurement.tops[number % kTops],
                     kTimers[number % kTimers.size()], measurement.context());
  };
  for (size_t i = 0; i < kTops; ++i) walk();
  TimeEachWalk(measurement, walk);
}

void ChangingTops(Measurement& measurement, size_t changing, size_t depth) {
  for (uint64_t i = 0; i < kTops; ++i) {
    measurement.tops.push_back(
        MakeChain(Layout::kMixed, changing - 1, kSeed + 1 + i));
  }
  CallThroughChain(MakeChain(Layout::kMixed, depth - changing, kSeed),
                   LoopOverTops, measurement.context());
}

struct Row {
  std::string stack;
  size_t depth;
  int times;  // that it is timed
  std::function<void(Measurement& measurement)> body;
  // What must be right for it to be timed.
  Layout layout = Layout::kMixed;
  Point point = Point::kHere;
};

std::vector<Row> DepthRows() {
  std::vector<Row> rows;
  for (size_t depth : {10, 30, 100, 1000}) {
    const int times = depth == 1000 ? 200 : 2000;
    rows.push_back(
        {"same", depth, times / 4,
         [depth](Measurement& measurement) { Same(measurement, depth); }});
    rows.push_back({"warm", depth, times, [depth](Measurement& measurement) {
                      Warm(measurement, Layout::kMixed, depth);
                    }});
  }
  for (size_t depth : {30, 100}) {
    for (size_t changing : {1, 3, 10}) {
      rows.push_back({"top" + std::to_string(changing), depth, 2000,
                      [changing, depth](Measurement& measurement) {
                        ChangingTops(measurement, changing, depth);
                      }});
    }
    rows.push_back({"random", depth, 5000, [depth](Measurement& measurement) {
                      Random(measurement, depth);
                    }});
  }
  rows.push_back({"evicted", 30, 300,
                  [](Measurement& measurement) { Evicted(measurement, 30); }});
  return rows;
}

std::vector<Row> LayoutRows() {
  struct Kind {
    const char* name;
    Layout layout;
    Point point = Point::kHere;
  };
  std::vector<Row> rows;
  for (const Kind& kind : {Kind{"rsp", Layout::kRsp},
                           {"rbp", Layout::kRbp},
                           {"alloca", Layout::kAlloca},
                           {"realigned", Layout::kRealigned},
                           {"cxx", Layout::kCxx},
                           {"signal", Layout::kSignal},
                           {"leaf", Layout::kMixed, Point::kLeaf},
                           {"stub", Layout::kMixed, Point::kStub}}) {
    rows.push_back({kind.name, 30, 2000,
                    [kind](Measurement& measurement) {
                      measurement.point = kind.point;
                      Warm(measurement, kind.layout, 30);
                    },
                    kind.layout, kind.point});
  }
  return rows;
}

// A walker that cannot begin elsewhere than where it is called.
bool IsApplicable(const Walker& walker, const Row& row) {
  return row.point == Point::kHere || walker.takes_context;
}

void Run(benchmark::State& state, const Walker& walker, const Row& row) {
  std::optional<Recording> recording;
  collectors::ThreadState* thread = nullptr;
  if (&walker == &kSampler) {
    recording.emplace(kMaxDepth);
    thread = recording->PrepareThread();
  }
  RunOnOwnThread([&] {
    InitThread();
    if (&walker != &kSampler &&
        !IsRight(walker, row.layout, row.point, row.depth)) {
      if (&walker == &kUnspool) Fail("ours differs from libgcc's");
      state.SkipWithError("differs from libgcc's");
      return;
    }
    if (recording) recording->EnterThread(*thread);
    Measurement measurement{state, walker};
    row.body(measurement);
    if (recording) recording->LeaveThread(*thread);
    state.counters["frames"] = static_cast<double>(measurement.frames);
    state.counters["median_ns"] = MedianNs(measurement.seconds);
  });
}

void Register(const Walker& walker, const Row& row) {
  const std::string name = std::string("walk/") + walker.name + "/" +
                           row.stack + "/" + std::to_string(row.depth);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [&walker, row](benchmark::State& state) { Run(state, walker, row); })
      ->UseManualTime()
      ->Iterations(row.times);
}

}  // namespace

void RegisterWalks() {
  std::vector<const Walker*> walkers(kWalkers.begin(), kWalkers.end());
  walkers.push_back(&kSampler);
  for (const Walker* walker : walkers) walker->init();
  InitSignal();
  std::vector<Row> rows = DepthRows();
  for (Row& row : LayoutRows()) rows.push_back(std::move(row));
  for (const Walker* walker : walkers) {
    for (const Row& row : rows) {
      if (IsApplicable(*walker, row)) Register(*walker, row);
    }
  }
}

}  // namespace unspool::bench
