// Spending CPU time and saying how much was spent, for the end-to-end programs.
//
// Programs spin by CPU time or by iterations, never by wall seconds, so that a
// busy machine makes a test slower and not wrong.

#ifndef UNSPOOL_TESTS_END_TO_END_PROGRAMS_BURN_H_
#define UNSPOOL_TESTS_END_TO_END_PROGRAMS_BURN_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

// About a nanosecond each. Inlined: the time belongs to the caller.
__attribute__((always_inline)) static inline uint64_t burn(
    uint64_t iterations) {
  uint64_t state = 1;
  for (uint64_t i = 0; i < iterations; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(state));
  }
  return state;
}

// Iterations between two looks at the clock: long enough that the looks are
// under 1 % of the time.
enum { kBurnChunk = 100000 };

// CPU time of the calling thread.
static inline double thread_cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// argv[index] as a number, or `fallback`.
static inline double argument(int argc, char** argv, int index,
                              double fallback) {
  return argc > index ? atof(argv[index]) : fallback;
}

// User + system CPU time so far, in nanoseconds, of RUSAGE_SELF or _CHILDREN.
static inline long long rusage_ns(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

// Writes the CPU time of the process and the children that it waited for to the
// file that E2E_RUSAGE names. The last thing that main() does.
static inline void report_rusage(void) {
  const char* path = getenv("E2E_RUSAGE");
  if (path == NULL) return;
  FILE* file = fopen(path, "w");
  if (file == NULL) exit(98);
  fprintf(file, "%lld\n", rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN));
  fclose(file);
}

#endif  // UNSPOOL_TESTS_END_TO_END_PROGRAMS_BURN_H_
