// Honest totals: programs whose CPU time is easy to state and hard to sample.
//
// totals single|threads|syscalls [CPU seconds in all [threads]]
//   single    one thread, in user mode
//   threads   64 threads (or so many) at once, with equal parts of the time
//   syscalls  reads of /dev/zero: nearly all of the time is the kernel's
// Prints one line and ends with status 7, which must come through.

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

enum { kMaxThreads = 64, kStatus = 7 };

static double cpu_seconds;
static int thread_count;

static NOINLINE void burn_until(double seconds) {
  while (thread_cpu_seconds() < seconds) burn(kBurnChunk);
}

static void* thread_main(void* unused) {
  burn_until(cpu_seconds / thread_count);
  return unused;
}

static void run_threads(void) {
  pthread_t threads[kMaxThreads];
  for (int i = 0; i < thread_count; ++i) {
    if (pthread_create(&threads[i], NULL, thread_main, NULL) != 0) exit(2);
  }
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
}

static NOINLINE void read_zeros(void) {
  static char block[1 << 20];
  const int fd = open("/dev/zero", O_RDONLY);
  while (thread_cpu_seconds() < cpu_seconds) {
    for (int i = 0; i < 16; ++i) {
      if (read(fd, block, sizeof block) != (ssize_t)sizeof block) exit(2);
    }
  }
  close(fd);
}

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  cpu_seconds = argument(argc, argv, 2, 2);
  thread_count = (int)argument(argc, argv, 3, kMaxThreads);
  if (thread_count < 1 || thread_count > kMaxThreads) return 64;
  if (strcmp(argv[1], "single") == 0) burn_until(cpu_seconds);
  if (strcmp(argv[1], "threads") == 0) run_threads();
  if (strcmp(argv[1], "syscalls") == 0) read_zeros();
  printf("done %s\n", argv[1]);
  report_rusage();
  return kStatus;
}
