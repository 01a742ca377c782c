// odd_ranges [CPU seconds]: spins below functions that several FDEs cover.

#include "burn.h"

void has_empty(uint64_t iterations);
void has_duplicate(uint64_t iterations);
void inside(uint64_t iterations);

NOINLINE void spin(uint64_t iterations);
NOINLINE void spin(uint64_t iterations) { burn(iterations); }

static NOINLINE int caller(double cpu_seconds) {
  int rounds = 0;
  for (; thread_cpu_seconds() < cpu_seconds; ++rounds) {
    has_empty(kBurnChunk);
    has_duplicate(kBurnChunk);
    inside(kBurnChunk);
  }
  return rounds;
}

int main(int argc, char** argv) {
  printf("done %d\n", caller(argument(argc, argv, 1, 1)) > 0);
  report_rusage();
  return 0;
}
