// A stack of very many frames that returns for a few of them at a time, and
// calls again: ticks on it take long.
//
// very_deep FRAMES SECONDS: prints how much was done in each CPU second.

#include <stdlib.h>

#include "burn.h"

static double cpu_seconds;
static uint64_t rounds;

static NOINLINE uint64_t spin_at_bottom(void) {
  uint64_t sum = 0;
  while (thread_cpu_seconds() < cpu_seconds) {
    sum += burn(kBurnChunk);
    ++rounds;
  }
  return sum;
}

static NOINLINE uint64_t recurse(int depth) {
  const uint64_t result = depth == 1 ? spin_at_bottom() : recurse(depth - 1);
  return result + (uint64_t)depth;
}

int main(int argc, char** argv) {
  const int depth = (int)argument(argc, argv, 1, 60000);
  cpu_seconds = argument(argc, argv, 2, 2);
  const uint64_t sum = recurse(depth);
  printf("rounds %llu %d\n", (unsigned long long)rounds, sum != 0);
  report_rusage();
  return 0;
}
