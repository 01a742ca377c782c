// Functions to be called through stubs: call_00 … call_77, which do next to
// nothing. Each is declared, too, so that it can end as a declaration does.

#include "plt_functions.h"

#define DEFINE(number)                                            \
  void call_##number(void) { __asm__ volatile("" ::: "memory"); } \
  extern void call_##number(void)

EACH_FUNCTION(DEFINE);
