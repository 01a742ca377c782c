// Calls all functions of plt_callee.c once, through stubs that are bound
// lazily: a library that is loaded for each round.

#define CALL(number)                 \
  do {                               \
    extern void call_##number(void); \
    call_##number();                 \
  } while (0)
#define EIGHT(tens) \
  CALL(tens##0);    \
  CALL(tens##1);    \
  CALL(tens##2);    \
  CALL(tens##3);    \
  CALL(tens##4);    \
  CALL(tens##5);    \
  CALL(tens##6);    \
  CALL(tens##7)

void call_all(void) {
  EIGHT(0);
  EIGHT(1);
  EIGHT(2);
  EIGHT(3);
  EIGHT(4);
  EIGHT(5);
  EIGHT(6);
  EIGHT(7);
}
