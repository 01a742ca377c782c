// SY-01, EC-02: a library with static functions.

#include "burn.h"

static NOINLINE uint64_t foo_hot(uint64_t iterations) {
  return burn(iterations);
}

static NOINLINE uint64_t foo_middle(uint64_t iterations) {
  return foo_hot(iterations) + 1;
}

// Exported. Calls back, so that the program's frames are inside as well.
NOINLINE uint64_t foo_run(uint64_t iterations, uint64_t (*callback)(uint64_t)) {
  return foo_middle(iterations) + callback(iterations);
}
