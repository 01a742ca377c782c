// For what would take too many instructions before that which is to be looked
// at: the oracle does not step through what lies between two calls of this.
// Both must be made by one function.

#ifndef UNSPOOL_TESTS_ORACLE_SUBJECTS_SKIP_H_
#define UNSPOOL_TESTS_ORACLE_SUBJECTS_SKIP_H_

// Tracer::kSkip, which is no system call: the kernel refuses it.
__attribute__((always_inline)) static inline void skip(void) {
  long number = 0x5c1b;
  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
}

#endif  // UNSPOOL_TESTS_ORACLE_SUBJECTS_SKIP_H_
