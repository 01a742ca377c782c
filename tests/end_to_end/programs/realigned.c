// EC-07: functions that realign their stack, so that their CFA is found by an
// expression that reads memory. Built with -O2 -mstackrealign -mforce-drap.
//
// realigned [CPU seconds]

#include "burn.h"

static double cpu_seconds;

// The callee reads and writes through the pointer: the block stays in memory.
static NOINLINE uint64_t realigned_leaf(uint64_t* block) {
  for (int i = 0; i < 8; ++i) block[i] += burn(kBurnChunk / 8);
  return block[0];
}

static NOINLINE uint64_t realigned_middle(const uint64_t* outer, uint64_t a,
                                          uint64_t b, uint64_t c) {
  __attribute__((aligned(32))) uint64_t block[8] = {a, b, c, outer[0]};
  uint64_t sum = a;
  for (int i = 0; i < 4; ++i) sum = sum * b + realigned_leaf(block) * c;
  return sum;
}

static NOINLINE uint64_t realigned_outer(uint64_t seed) {
  __attribute__((aligned(64))) uint64_t block[8] = {seed, 1, 2};
  uint64_t sum = realigned_leaf(block);
  return sum + realigned_middle(block, sum, seed, 3);
}

int main(int argc, char** argv) {
  cpu_seconds = argument(argc, argv, 1, 2);
  uint64_t sum = 0;
  while (thread_cpu_seconds() < cpu_seconds) sum += realigned_outer(sum);
  printf("done %d\n", sum != 0);
  report_rusage();
  return 0;
}
