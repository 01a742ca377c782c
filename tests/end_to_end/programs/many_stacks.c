// many_stacks CPU_SECONDS [FILE]: uses so much CPU time in stacks of 800
// frames, 64 different ones. With FILE: does that in one process after the
// other until there is a file of that name, and says how many there were.

#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

enum { kDepth = 800, kStacks = 64 };

static NOINLINE uint64_t leaf(void) { return burn(kBurnChunk); }

static uint64_t left(int depth, uint64_t turns);
static uint64_t right(int depth, uint64_t turns);

static inline uint64_t go_on(int depth, uint64_t turns) {
  if (depth == 0) return leaf();
  const uint64_t next = turns * 6364136223846793005u + 1442695040888963407u;
  return next >> 63 ? left(depth - 1, next) : right(depth - 1, next);
}

// Not loops.
static NOINLINE uint64_t left(int depth, uint64_t turns) {
  uint64_t result = go_on(depth, turns);
  __asm__ volatile("# left" : "+r"(result));
  return result;
}
static NOINLINE uint64_t right(int depth, uint64_t turns) {
  uint64_t result = go_on(depth, turns);
  __asm__ volatile("# right" : "+r"(result));
  return result;
}

static NOINLINE uint64_t work(double cpu_seconds) {
  uint64_t sum = 0;
  for (uint64_t i = 0; thread_cpu_seconds() < cpu_seconds; ++i) {
    sum += go_on(kDepth, i % kStacks);
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  if (argc == 2) return work(atof(argv[1])) == 0;
  const char* file = argv[2];
  argv[2] = NULL;
  int children = 0;
  for (; access(file, F_OK) != 0; ++children) {
    const pid_t pid = fork();
    if (pid == 0) {
      execv(argv[0], argv);
      _exit(1);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
  }
  printf("%d\n", children);
  report_rusage();
  return 0;
}
