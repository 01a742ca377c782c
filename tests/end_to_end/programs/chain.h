// What qsort(3) calls, in an object of its own.

#ifndef UNSPOOL_TESTS_END_TO_END_PROGRAMS_CHAIN_H_
#define UNSPOOL_TESTS_END_TO_END_PROGRAMS_CHAIN_H_

int middle(const void* a, const void* b);

#endif  // UNSPOOL_TESTS_END_TO_END_PROGRAMS_CHAIN_H_
