// epilogue_cfi [iterations]: a hot loop where CFI is wrong by one word.

#include "burn.h"

void call_spin_behind_add(uint64_t iterations);
void call_spin_behind_push(uint64_t iterations);

int main(int argc, char** argv) {
  const uint64_t iterations = (uint64_t)argument(argc, argv, 1, 1e9);
  call_spin_behind_add(iterations);
  call_spin_behind_push(iterations);
  report_rusage();
  return 0;
}
