// A walker in a fresh process, on code that it has not seen:
//
//   unspool_cold WALKER
//
// Prints {"start_ns", "first_ns", "frame_ns"}: what its start takes, its first
// walk (of a few frames; what it loads when it is first used), and then each
// frame of 50 walks of 100 functions each, every function met once.

#include <cstdio>
#include <cstring>

#include "bench/unwind/chain.h"
#include "bench/unwind/timed_walk.h"
#include "bench/unwind/walkers.h"

namespace unspool::bench {
namespace {

constexpr size_t kDepth = 100;

void Measure(const Walker& walker) {
  const Chain all = AllFunctions(/*seed=*/1);
  Stopwatch watch;
  watch.Start();
  walker.init();
  watch.Stop();
  const double start_ns = watch.seconds() * 1e9;
  double first_ns = 0;
  double walks_ns = 0;
  size_t frames = 0;
  RunOnOwnThread([&] {
    InitThread();
    TimedWalk walk(walker, kDepth + 64);
    CallThroughChain({}, TimeWalk<0>, &walk);
    first_ns = walk.watch.seconds() * 1e9;
    for (auto from = all.begin(); from != all.end(); from += kDepth) {
      CallThroughChain({from, from + kDepth}, TimeWalk<0>, &walk);
      if (walk.frames < kDepth) Fail("a walk ended early");
      walks_ns += walk.watch.seconds() * 1e9;
      frames += walk.frames;
    }
  });
  std::printf("{\"start_ns\": %.0f, \"first_ns\": %.0f, \"frame_ns\": %.2f}\n",
              start_ns, first_ns, walks_ns / static_cast<double>(frames));
}

}  // namespace
}  // namespace unspool::bench

int main(int argc, char** argv) {
  for (const unspool::bench::Walker* walker : unspool::bench::kWalkers) {
    if (argc == 2 && std::strcmp(argv[1], walker->name) == 0) {
      unspool::bench::Measure(*walker);
      return 0;
    }
  }
  std::fprintf(stderr, "usage: unspool_cold WALKER, one of:");
  for (const unspool::bench::Walker* walker : unspool::bench::kWalkers) {
    std::fprintf(stderr, " %s", walker->name);
  }
  std::fprintf(stderr, "\n");
  return 2;
}
