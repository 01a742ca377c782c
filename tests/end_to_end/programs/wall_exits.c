// Ends of a program under the wall clock that are not main's return. Usage:
// wall_exits pthread_exit (main ends first, a thread last, whose output is
// still in a buffer), or fork (a child that sleeps and ends, waited for).

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static void nap(void) {
  const struct timespec time = {0, 300 * 1000 * 1000};
  nanosleep(&time, NULL);
}

NOINLINE static void sleep_after_main(void) { nap(); }
NOINLINE static void sleep_in_child(void) { nap(); }
NOINLINE static int wait_for_child(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static void* last_thread(void* argument) {
  (void)argument;
  sleep_after_main();
  printf("the last word");
  report_rusage();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "pthread_exit") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_exit(NULL);
  }
  const pid_t child = fork();
  if (child == 0) {
    sleep_in_child();
    return 5;
  }
  printf("child %d\n", wait_for_child(child));
  report_rusage();
  return 0;
}
