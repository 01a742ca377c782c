// What a process costs from its start to its end:
//
//   process_cost COUNT COMMAND...
//
// Runs the command so often, its output thrown away, and prints for each
// "elapsed_ns cpu_ns rss_kib". Not Python: a child's peak RSS is at least its
// parent's at exec.

#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t to_ns(struct timeval time) {
  return time.tv_sec * INT64_C(1000000000) + time.tv_usec * INT64_C(1000);
}

// The environment variable COMMAND_PRELOAD becomes the command's LD_PRELOAD.
static void preload(void) {
  const char* libraries = getenv("COMMAND_PRELOAD");
  if (libraries != NULL) setenv("LD_PRELOAD", libraries, 1);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: process_cost COUNT COMMAND...\n");
    return 2;
  }
  preload();
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0 ||
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) !=
          0) {
    return 1;
  }
  for (long count = atol(argv[1]); count > 0; --count) {
    const int64_t begin = now_ns();
    pid_t pid = 0;
    int status = 0;
    struct rusage usage;
    if (posix_spawn(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0 ||
        wait4(pid, &status, 0, &usage) != pid || status != 0) {
      fprintf(stderr, "process_cost: %s failed\n", argv[2]);
      return 1;
    }
    printf("%lld %lld %ld\n", (long long)(now_ns() - begin),
           (long long)(to_ns(usage.ru_utime) + to_ns(usage.ru_stime)),
           usage.ru_maxrss);
  }
  return 0;
}
