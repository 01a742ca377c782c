// FE-04: eight threads burn the same CPU time, each in a function of its own:
// half of it one after the other, half side by side.
//
// equal_shares [CPU seconds per thread]

#include <pthread.h>

#include "burn.h"

enum { kThreads = 8 };

static double cpu_seconds;

#define DEFINE_SHARE(n)                                           \
  static NOINLINE uint64_t share_##n(double until) {              \
    uint64_t sum = n;                                             \
    while (thread_cpu_seconds() < until) sum += burn(kBurnChunk); \
    return sum;                                                   \
  }
DEFINE_SHARE(0)
DEFINE_SHARE(1)
DEFINE_SHARE(2)
DEFINE_SHARE(3)
DEFINE_SHARE(4)
DEFINE_SHARE(5)
DEFINE_SHARE(6)
DEFINE_SHARE(7)

static uint64_t (*const shares[kThreads])(double) = {
    share_0, share_1, share_2, share_3, share_4, share_5, share_6, share_7};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_had_their_turn;

static void* run_share(void* argument_pointer) {
  uint64_t (*share)(double) = *(uint64_t(*const*)(double))argument_pointer;
  pthread_mutex_lock(&turn);
  share(cpu_seconds / 2);
  pthread_mutex_unlock(&turn);
  pthread_barrier_wait(&all_had_their_turn);
  share(cpu_seconds);
  return NULL;
}

int main(int argc, char** argv) {
  cpu_seconds = argument(argc, argv, 1, 1);
  pthread_barrier_init(&all_had_their_turn, NULL, kThreads);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    pthread_create(&threads[i], NULL, run_share, (void*)&shares[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("done\n");
  report_rusage();
  return 0;
}
