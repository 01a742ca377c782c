// fork_child: the child of a fork without exec makes a thread, profiles itself
// by ITIMER_PROF, and ends by exit(); then the parent spins. Says what went
// wrong by its exit status.

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

static volatile int counted;
static void count(int signal) {
  (void)signal;
  ++counted;
}

static void* run(void* argument) {
  spin_ms(20);
  return argument;
}

int main(void) {
  spin_ms(100);
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0) exit(3);
    pthread_join(thread, NULL);
    spin_ms(100);
    // Its own profiling, as if we had never been there.
    signal(SIGPROF, count);
    const struct itimerval soon = {{0, 10000}, {0, 10000}};
    setitimer(ITIMER_PROF, &soon, NULL);
    spin_ms(100);
    exit(counted > 0 ? 5 : 4);
  }
  int status;
  if (waitpid(child, &status, 0) != child) return 1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) return 2;
  spin_ms(100);
  print_cpu();
  return 0;
}
