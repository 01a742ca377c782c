// Calls all functions of plt_callee.c once, through stubs that are bound
// lazily: a library that is loaded for each round.

#define DECLARE_AND_CALL(number)     \
  {                                  \
    extern void call_##number(void); \
    call_##number();                 \
  }
#define EIGHT(tens)                                       \
  DECLARE_AND_CALL(tens##0)                               \
  DECLARE_AND_CALL(tens##1)                               \
  DECLARE_AND_CALL(tens##2) DECLARE_AND_CALL(tens##3)     \
      DECLARE_AND_CALL(tens##4) DECLARE_AND_CALL(tens##5) \
          DECLARE_AND_CALL(tens##6) DECLARE_AND_CALL(tens##7)

void call_all(void) {
  EIGHT(0) EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6) EIGHT(7)
}
