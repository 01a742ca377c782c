// Registers the benchmarks and runs them. Takes Google Benchmark's flags.

#include <benchmark/benchmark.h>

#include "bench/unwind/walk_bench.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  unspool::bench::RegisterWalks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
