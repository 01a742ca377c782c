// Spends CPU time, and says how much the process has used.

#ifndef UNSPOOL_TESTS_PROFILER_AGENT_PROGRAMS_SPIN_H_
#define UNSPOOL_TESTS_PROFILER_AGENT_PROGRAMS_SPIN_H_

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static inline long long thread_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((noinline)) static void spin_ms(long ms) {
  const long long end = thread_cpu_ns() + ms * 1000000LL;
  while (thread_cpu_ns() < end) {
    for (int i = 0; i < 20000; ++i) __asm__ volatile("");
  }
}

// "cpu_ns=N" on stdout: user + system time so far.
static inline void print_cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("cpu_ns=%lld\n",
         (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
             (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
  fflush(stdout);
}

#endif  // UNSPOOL_TESTS_PROFILER_AGENT_PROGRAMS_SPIN_H_
