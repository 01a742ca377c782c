#include "burn.h"
#include "chain.h"

static NOINLINE uint64_t leaf(uint64_t a, uint64_t b) {
  const uint64_t here = burn(2000);
  return here ^ a ^ b;
}

int middle(const void* a, const void* b) {
  const int first = *(const int*)a;
  const int second = *(const int*)b;
  volatile uint64_t sink = leaf((uint64_t)first, (uint64_t)second);
  (void)sink;
  return (first > second) - (first < second);
}
