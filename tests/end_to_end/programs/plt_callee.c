// Functions to be called through stubs: call_00 … call_77, which do next to
// nothing. Each line declares, so that it can end as a declaration does.

#define FUNCTION(number)                                          \
  void call_##number(void) { __asm__ volatile("" ::: "memory"); } \
  extern void call_##number(void)
#define EIGHT(tens)  \
  FUNCTION(tens##0); \
  FUNCTION(tens##1); \
  FUNCTION(tens##2); \
  FUNCTION(tens##3); \
  FUNCTION(tens##4); \
  FUNCTION(tens##5); \
  FUNCTION(tens##6); \
  FUNCTION(tens##7)

EIGHT(0);
EIGHT(1);
EIGHT(2);
EIGHT(3);
EIGHT(4);
EIGHT(5);
EIGHT(6);
EIGHT(7);
