// ST-03: 200 frames of 4 KB each, 800 KB of stack, above a spin loop.
//
// deep_frames [CPU seconds]

#include <alloca.h>

#include "burn.h"

static double cpu_seconds;

static NOINLINE uint64_t spin_at_bottom(void) {
  uint64_t sum = 0;
  while (thread_cpu_seconds() < cpu_seconds) sum += burn(kBurnChunk);
  return sum;
}

static NOINLINE uint64_t recurse(int depth) {
  volatile char* block = alloca(4096);
  block[0] = (char)depth;
  const uint64_t result = depth == 1 ? spin_at_bottom() : recurse(depth - 1);
  return result + (uint64_t)block[0];
}

int main(int argc, char** argv) {
  cpu_seconds = argument(argc, argv, 1, 2);
  printf("done %d\n", recurse(200) != 0);
  report_rusage();
  return 0;
}
