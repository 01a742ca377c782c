// tree HOW: spins in before(), then becomes more than one process in one of
// several ways; each spins in a function of its own. Exit status 7, or what
// went wrong.

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

extern char** environ;
static const char* own_path;

#define WORK(name)                                      \
  __attribute__((noinline)) static void name(long ms) { \
    spin_ms(ms);                                        \
    __asm__ volatile("");                               \
  }
WORK(before)
WORK(parentwork)
WORK(childwork)
WORK(grandchildwork)
WORK(execwork)

static void wait_for(pid_t child, int expected) {
  int status;
  if (waitpid(child, &status, 0) != child) exit(20);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) exit(21);
}

static void exec_self(void) {
  execl(own_path, own_path, "execed", (char*)NULL);
  exit(22);
}

static void* exec_in_thread(void* unused) {
  exec_self();
  return unused;
}

static void failed_exec(void) {
  char* const arguments[] = {"x", NULL};
  if (execve("/nonexistent/program", arguments, environ) == 0) exit(23);
}

static void close_all(void) {
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  syscall(SYS_close_range, 3, ~0U, 0);
}

// What the forked child does with itself before it works.
static void prepare_child(const char* how) {
  if (strcmp(how, "closeall") == 0) close_all();
  if (strcmp(how, "chroot") == 0) {
    if (chroot("/var/empty") != 0 && chroot("/proc") != 0) exit(24);
    if (chdir("/") != 0) exit(24);
  }
  if (strcmp(how, "setuid") == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) exit(25);
  }
  if (strcmp(how, "failed_exec") == 0) failed_exec();
  if (strcmp(how, "exec") == 0) exec_self();
  if (strcmp(how, "exec_thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, exec_in_thread, NULL);
    for (;;) pause();
  }
}

static void* fork_in_thread(void* unused) {
  const pid_t child = fork();
  if (child == 0) {
    childwork(300);
    exit(7);
  }
  wait_for(child, 7);
  return unused;
}

static void spawn_self(void) {
  char* const arguments[] = {(char*)own_path, "execed", NULL};
  pid_t child;
  if (posix_spawn(&child, own_path, NULL, NULL, arguments, environ) != 0) {
    exit(26);
  }
  wait_for(child, 7);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  own_path = argv[0];
  if (strcmp(how, "execed") == 0) {
    execwork(300);
    return 7;
  }
  before(300);
  if (strcmp(how, "spawn") == 0) {
    spawn_self();
    return 7;
  }
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, fork_in_thread, NULL);
    pthread_join(thread, NULL);
    return 7;
  }
  if (strcmp(how, "daemon") == 0) {
    if (daemon(1, 1) != 0) return 27;
    childwork(300);
    return 7;
  }
  const pid_t child = fork();
  if (child == 0) {
    prepare_child(how);
    if (strcmp(how, "double") == 0) {
      const pid_t grandchild = fork();
      if (grandchild != 0) _exit(grandchild > 0 ? 7 : 28);
      grandchildwork(300);
      exit(7);
    }
    childwork(300);
    if (strcmp(how, "kill_child") == 0) raise(SIGKILL);
    exit(7);
  }
  parentwork(300);
  if (strcmp(how, "kill_child") == 0) {
    printf("%d\n", child);
    waitpid(child, NULL, 0);
    return 7;
  }
  wait_for(child, 7);
  return 7;
}
