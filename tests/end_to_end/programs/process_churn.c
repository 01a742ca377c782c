// process_churn [CPU seconds with children]: starts and awaits processes in
// every way: fork with work in the child, fork and exec, vfork and exec,
// posix_spawn, a failed exec. One thread is in calls that a signal would
// interrupt. Prints "started N interrupted N"; a child that did not end as it
// should ends the program with status 1.

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking_calls.h"
#include "burn.h"

extern char** environ;

static volatile sig_atomic_t done;
static char* kTrue[] = {"/bin/true", NULL};

static void* blocked(void* interrupted) {
  // posix_spawn blocks all signals for a moment, and a SIGCHLD of that moment
  // would wake this thread, profiler or not.
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, NULL);
  struct blocking_objects objects;
  open_blocking(&objects);
  while (!done) *(long*)interrupted += block_once(&objects);
  return NULL;
}

static void await(pid_t pid, int status) {
  int got;
  if (pid < 0) {
    perror("process_churn: start");
    exit(1);
  }
  while (waitpid(pid, &got, 0) < 0) {
    if (errno != EINTR) exit(1);
  }
  if (!WIFEXITED(got) || WEXITSTATUS(got) != status) {
    fprintf(stderr, "process_churn: a child ended with %#x, not %d\n", got,
            status);
    exit(1);
  }
}

NOINLINE static void child_work(void) { burn(3000000); }

static void fork_and_work(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    child_work();
    exit(7);
  }
  await(pid, 7);
}

static void fork_and_exec(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    burn(100000);
    execv(kTrue[0], kTrue);
    _exit(8);
  }
  await(pid, 0);
}

static void vfork_and_exec(void) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execv(kTrue[0], kTrue);
    _exit(8);
  }
  await(pid, 0);
}

static void fork_and_fail_to_exec(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/nowhere/at/all", "none", (char*)NULL);
    _exit(9);
  }
  await(pid, 9);
}

static void spawn(void) {
  pid_t pid;
  if (posix_spawn(&pid, kTrue[0], NULL, NULL, kTrue, environ) != 0) exit(1);
  await(pid, 0);
}

int main(int argc, char** argv) {
  const double cpu_seconds = argument(argc, argv, 1, 2);
  long interrupted = 0, started = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, blocked, &interrupted);
  while ((double)(rusage_ns(RUSAGE_SELF) + rusage_ns(RUSAGE_CHILDREN)) * 1e-9 <
         cpu_seconds) {
    fork_and_work();
    fork_and_exec();
    vfork_and_exec();
    fork_and_fail_to_exec();
    spawn();
    started += 5;
    burn(1000000);
  }
  done = 1;
  pthread_join(thread, NULL);
  printf("started %ld interrupted %ld\n", started, interrupted);
  report_rusage();
  return 0;
}
