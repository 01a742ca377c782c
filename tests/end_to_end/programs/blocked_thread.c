// blocked_thread [CPU seconds]: a thread that inherits a mask that blocks every
// signal, beside main, which blocks none. Prints whether its mask stayed.

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "burn.h"

static double cpu_seconds;

NOINLINE static void spin(void) {
  while (thread_cpu_seconds() < cpu_seconds) burn(kBurnChunk);
}

static void* run(void* unused) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  pthread_setname_np(pthread_self(), "blocked");
  spin();
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&before, signal) != sigismember(&after, signal)) exit(3);
  }
  if (!sigismember(&after, SIGPROF)) exit(4);
  return unused;
}

int main(int argc, char** argv) {
  pthread_t thread;
  sigset_t all, before;
  cpu_seconds = argument(argc, argv, 1, 1);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_create(&thread, NULL, run, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  spin();
  pthread_join(thread, NULL);
  puts("mask kept");
  report_rusage();
  return 0;
}
