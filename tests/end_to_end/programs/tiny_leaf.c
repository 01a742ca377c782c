// ST-02: most of the time is spent entering and leaving a function of a few
// instructions, where a frame pointer still belongs to the caller.
//
// tiny_leaf [million calls]

#include "burn.h"

static NOINLINE uint64_t tiny(uint64_t value) { return value * 3 + 1; }

// The result is used after the calls: none of them is a tail call.
static NOINLINE uint64_t mid(uint64_t value) {
  value = tiny(value) ^ 1;
  value = tiny(value) ^ 2;
  value = tiny(value) ^ 3;
  return tiny(value) ^ 4;
}

int main(int argc, char** argv) {
  const uint64_t calls = (uint64_t)(argument(argc, argv, 1, 100) * 1e6);
  uint64_t value = 0;
  for (uint64_t i = 0; i < calls; i += 4) value = mid(value);
  printf("value %llu\n", (unsigned long long)value);
  report_rusage();
  return 0;
}
