// Calls all functions of plt_callee.c once, through stubs that are bound
// lazily: a library that is loaded for each round.

#include "plt_functions.h"

#define CALL(number)                 \
  do {                               \
    extern void call_##number(void); \
    call_##number();                 \
  } while (0)

void call_all(void) { EACH_FUNCTION(CALL); }
