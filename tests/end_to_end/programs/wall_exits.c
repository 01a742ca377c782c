// What programs do with themselves while they sleep. Usage:
// wall_exits pthread_exit (main ends first, a thread last, whose output is
// still in a buffer), fork (a child that sleeps and ends, waited for), or
// daemon (gives up what lets it read its own /proc).

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static void nap(void) {
  const struct timespec time = {0, 300 * 1000 * 1000};
  nanosleep(&time, NULL);
}

NOINLINE static void sleep_after_main(void) { nap(); }
NOINLINE static void sleep_in_child(void) { nap(); }
NOINLINE static void sleep_without_rights(void) { nap(); }
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
  if (argc > 1 && strcmp(argv[1], "daemon") == 0) {
    report_rusage();
    if (geteuid() != 0) {
      prctl(PR_SET_DUMPABLE, 0);
    } else if (chroot("/proc/self/fdinfo") != 0 || setgid(65534) != 0 ||
               setuid(65534) != 0) {
      return 90;
    }
    sleep_without_rights();
    return 0;
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
