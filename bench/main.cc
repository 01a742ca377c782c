// Checks that all walkers agree, then runs the benchmarks. Takes Google
// Benchmark's flags.

#include <benchmark/benchmark.h>

#include "bench/unwind/walk_bench.h"
#include "bench/unwind/walkers.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  unspool::bench::InitWalkers();
  unspool::bench::CheckWalks();
  unspool::bench::RegisterWalks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
