// first_instruction_main [calls]: calls a function whose first instruction is
// the slow one.

#include "burn.h"

void before_first(void);
void first_slow(uint64_t* counter);

int main(int argc, char** argv) {
  const uint64_t calls = (uint64_t)argument(argc, argv, 1, 100e6);
  uint64_t counter = 0;
  if (argc > 2) before_first();
  for (uint64_t i = 0; i < calls; ++i) first_slow(&counter);
  printf("counted %d\n", counter == calls);
  report_rusage();
  return 0;
}
