// odd_ends_main [iterations]: spins below functions with odd CFI, and below
// none.

#include "burn.h"

void says_no_caller(uint64_t iterations);
void says_below(uint64_t iterations);
void says_itself(uint64_t iterations);

NOINLINE void spin(uint64_t iterations);
NOINLINE void spin(uint64_t iterations) { burn(iterations); }

int main(int argc, char** argv) {
  const uint64_t iterations = (uint64_t)argument(argc, argv, 1, 200e6);
  says_no_caller(iterations);
  says_below(iterations);
  says_itself(iterations);
  spin(iterations);
  puts("done");
  report_rusage();
  return 0;
}
