// backtraces [CPU seconds]: two threads take glibc's backtrace() of a stack
// that is always the same, and compare. Prints "taken N wrong N".

#include <execinfo.h>
#include <pthread.h>
#include <string.h>

#include "burn.h"

enum { kDepth = 20, kFrames = 64 };

static double cpu_seconds;

struct counts {
  long taken, wrong;
  int frames;  // of the first
  void* first[kFrames];
};

NOINLINE static void take(struct counts* counts) {
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  if (counts->taken++ == 0) {
    counts->frames = count;
    memcpy(counts->first, frames, sizeof(frames));
  }
  if (count != counts->frames || count <= kDepth ||
      memcmp(frames, counts->first, (size_t)count * sizeof(void*)) != 0) {
    ++counts->wrong;
  }
}

NOINLINE static void descend(int depth, struct counts* counts) {
  if (depth == 0) {
    take(counts);
  } else {
    descend(depth - 1, counts);
  }
  __asm__ volatile("" ::: "memory");  // no tail call
}

static void* run(void* counts) {
  while (thread_cpu_seconds() < cpu_seconds) {
    for (int i = 0; i < 100; ++i) descend(kDepth, counts);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static struct counts counts[2];
  pthread_t threads[2];
  cpu_seconds = argument(argc, argv, 1, 2);
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, run, &counts[i]);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("taken %ld wrong %ld\n", counts[0].taken + counts[1].taken,
         counts[0].wrong + counts[1].wrong);
  report_rusage();
  return 0;
}
