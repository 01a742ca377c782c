// The functions that plt_callee.c defines and plt_caller.c calls: DO(number)
// for each, 00 to 77 in octal.

#ifndef UNSPOOL_TESTS_END_TO_END_PROGRAMS_PLT_FUNCTIONS_H_
#define UNSPOOL_TESTS_END_TO_END_PROGRAMS_PLT_FUNCTIONS_H_

#define EIGHT(DO, tens) \
  DO(tens##0);          \
  DO(tens##1);          \
  DO(tens##2);          \
  DO(tens##3);          \
  DO(tens##4);          \
  DO(tens##5);          \
  DO(tens##6);          \
  DO(tens##7)
#define EACH_FUNCTION(DO) \
  EIGHT(DO, 0);           \
  EIGHT(DO, 1);           \
  EIGHT(DO, 2);           \
  EIGHT(DO, 3);           \
  EIGHT(DO, 4);           \
  EIGHT(DO, 5);           \
  EIGHT(DO, 6);           \
  EIGHT(DO, 7)

#endif  // UNSPOOL_TESTS_END_TO_END_PROGRAMS_PLT_FUNCTIONS_H_
