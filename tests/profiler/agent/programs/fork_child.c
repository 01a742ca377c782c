// fork_child: the child of a fork without exec spins, makes a thread, and ends
// by exit(); then the parent spins. Says what went wrong by its exit status.

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

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
    raise(SIGPROF);  // not a tick, and not the end of the child
    exit(5);
  }
  int status;
  if (waitpid(child, &status, 0) != child) return 1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) return 2;
  spin_ms(100);
  print_cpu();
  return 0;
}
