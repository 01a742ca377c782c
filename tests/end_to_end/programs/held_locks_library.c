// Built twice: with -DHOLDS the library whose constructor does not come back
// until it is told to; without, a function to spin in.

#ifdef HOLDS
void in_constructor(void);
__attribute__((constructor)) static void construct(void) { in_constructor(); }
#else
#include "burn.h"
uint64_t later_burn(uint64_t iterations);
NOINLINE uint64_t later_burn(uint64_t iterations) { return burn(iterations); }
#endif
