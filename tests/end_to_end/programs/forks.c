// forks [CPU seconds]: parent and child burn in functions of their own.
// forks WAYS: what else becomes of a process: "exec" burns, then becomes a
// shell with a busy loop, without the agent in its environment; "big" forks 20
// times with much memory; "chroot" forks a child that locks itself in.

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

static double cpu_seconds = 1;

NOINLINE static void before_fork(void) { burn(200000000); }
NOINLINE static void parent_work(void) {
  const double end = thread_cpu_seconds() + cpu_seconds;
  while (thread_cpu_seconds() < end) burn(kBurnChunk);
}
NOINLINE static void child_work(void) {
  const double end = thread_cpu_seconds() + cpu_seconds;
  while (thread_cpu_seconds() < end) burn(kBurnChunk);
}

static void await(pid_t pid) {
  int status;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0) {
    exit(1);
  }
}

static void fork_once(int locked_in) {
  const pid_t pid = fork();
  if (pid < 0) exit(2);
  if (pid == 0) {
    if (locked_in && (chroot("/var/empty") != 0 && chroot("/tmp") != 0)) {
      exit(3);
    }
    child_work();
    exit(0);
  }
  parent_work();
  await(pid);
}

static void fork_with_much_memory(void) {
  const size_t size = (size_t)1 << 29;
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(4);
  madvise(memory, size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = fork();
    if (pid < 0) exit(2);
    if (pid == 0) _exit(0);
    await(pid);
  }
}

static void become_shell(void) {
  unsetenv("LD_PRELOAD");
  execl("/bin/sh", "sh", "-c",
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo shell done",
        (char*)NULL);
  exit(5);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "1";
  before_fork();
  if (strcmp(way, "exec") == 0) {
    report_rusage();
    become_shell();
  } else if (strcmp(way, "big") == 0) {
    fork_with_much_memory();
  } else if (strcmp(way, "chroot") == 0) {
    fork_once(1);
  } else {
    cpu_seconds = argument(argc, argv, 1, 1);
    fork_once(0);
  }
  puts("done");
  report_rusage();
  return 0;
}
