// ST-05: a call that is the last instruction of its function, so that the
// return address is the first byte of the next one. Built with
// -falign-functions=1 and in source order: `decoy` begins right there.
//
// noreturn_call [CPU seconds]

#include "burn.h"

static double cpu_seconds;

__attribute__((noreturn)) NOINLINE void die(void) {
  uint64_t sum = 0;
  while (thread_cpu_seconds() < cpu_seconds) sum += burn(kBurnChunk);
  printf("done %d\n", sum != 0);
  report_rusage();
  exit(0);
}

__attribute__((noreturn)) NOINLINE void last(void) { die(); }

// A frame unlike that of `last`: unwinding by its rows gives a wrong stack.
NOINLINE int decoy(int value) {
  volatile char block[4096];
  block[0] = (char)value;
  return block[0] + printf("decoy %d\n", value);
}

int main(int argc, char** argv) {
  cpu_seconds = argument(argc, argv, 1, 2);
  if (argc > 5) return decoy(argc);
  last();
}
