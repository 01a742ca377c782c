// What the loader does at run time: lazy binding, IFUNCs, libraries that come
// and go; and the vDSO.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static int plain(void) { return 1; }
static int other(void) { return 2; }
static int (*choose(void))(void) {
  return getenv("UNSPOOL_OTHER") == NULL ? plain : other;
}
__attribute__((ifunc("choose"))) int chosen(void);

// Each of them is bound at its first call.
static double bind(double value) {
  return sin(value) + exp(value) + pow(value, 3) + atan2(value, 2) +
         (double)(a64l("text") + labs(-3) + atol("12"));
}

static void ask_clocks(void) {
  struct timespec now;
  struct timeval time;
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  gettimeofday(&time, NULL);
  (void)sched_getcpu();
}

static void load(const char* path) {
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(path, i == 0 ? RTLD_LAZY : RTLD_NOW);
    if (library == NULL) abort();
    int (*next_number)(void) = (int (*)(void))dlsym(library, "next_number");
    if (next_number() == 0 || dlsym(library, "not there") != NULL) abort();
    dlerror();
    dlclose(library);
  }
}

int main(int argc, char** argv) {
  const double bound = bind(argc);
  ask_clocks();
  load(argv[1]);
  return bound == 0 || chosen() != 1;
}
