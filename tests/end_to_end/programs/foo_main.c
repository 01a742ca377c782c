// SY-01, EC-02: a program and a library that call each other, static functions
// on both sides.
//
// foo_main [CPU seconds]

#include "burn.h"

uint64_t foo_run(uint64_t iterations, uint64_t (*callback)(uint64_t));

static NOINLINE uint64_t main_leaf(uint64_t iterations) {
  return burn(iterations);
}

static NOINLINE uint64_t main_callback(uint64_t iterations) {
  return main_leaf(iterations) + 1;
}

static NOINLINE uint64_t main_round(void) {
  return foo_run(10 * kBurnChunk, main_callback) + 1;
}

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 2);
  uint64_t sum = 0;
  while (thread_cpu_seconds() < seconds) sum += main_round();
  printf("done %d\n", sum != 0);
  report_rusage();
  return 0;
}
