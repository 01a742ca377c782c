#include "burn.h"
#include "chain.h"

// In segments of their own, where the linker is told of them.
#ifdef FAR_AWAY
#define FAR __attribute__((section(".far")))
#define FARTHER __attribute__((section(".farther")))
#else
#define FAR
#define FARTHER
#endif

FARTHER static NOINLINE uint64_t leaf(uint64_t a, uint64_t b) {
  const uint64_t here = burn(2000);
  return here ^ a ^ b;
}

FAR int middle(const void* a, const void* b) {
  const int first = *(const int*)a;
  const int second = *(const int*)b;
  volatile uint64_t sink = leaf((uint64_t)first, (uint64_t)second);
  (void)sink;
  return (first > second) - (first < second);
}
