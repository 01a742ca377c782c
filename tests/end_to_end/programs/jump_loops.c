// ST-04: code whose return address is in a register for a while: longjmp() and
// vfork().
//
// jump_loops [CPU seconds] of each.

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static jmp_buf place;

NOINLINE void jump_back(int value) { longjmp(place, value); }

NOINLINE void jump_loop(double seconds) {
  volatile double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) {
    for (volatile int i = 0; i < 20000; ++i) {
      if (setjmp(place) == 0) jump_back(1);
    }
  }
}

NOINLINE void start_child(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}

NOINLINE void child_loop(double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) start_child();
}

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 1);
  jump_loop(seconds);
  child_loop(seconds);
  report_rusage();
  return 0;
}
