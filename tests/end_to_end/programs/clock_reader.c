// EC-21: asks for time and processor all the time, which the vDSO answers.
//
// clock_reader [CPU seconds]

#define _GNU_SOURCE
#include <sched.h>

#include "burn.h"

static NOINLINE long read_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_nsec + 1;
}

static NOINLINE unsigned read_getcpu(void) {
  unsigned processor;
  unsigned node;
  getcpu(&processor, &node);
  return processor + 1;
}

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 1);
  long sum = 0;
  while (thread_cpu_seconds() < seconds) {
    for (int i = 0; i < 1000; ++i) sum += read_clock() + read_getcpu();
  }
  printf("done %d\n", sum != 0);
  report_rusage();
  return 0;
}
