// blocked_calls [CPU seconds]: two threads burn, two are in calls that a signal
// would interrupt, until the burners are done. Prints "interrupted N".

#include <pthread.h>
#include <stdatomic.h>

#include "blocking_calls.h"
#include "burn.h"

static double cpu_seconds;
static atomic_int burning = 2;

static void* burn_until_done(void* unused) {
  while (thread_cpu_seconds() < cpu_seconds) burn(kBurnChunk);
  burning--;
  return unused;
}

static void* block_until_done(void* interrupted) {
  struct blocking_objects objects;
  open_blocking(&objects);
  while (burning > 0) *(long*)interrupted += block_once(&objects);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[4];
  long interrupted[2] = {0, 0};
  cpu_seconds = argument(argc, argv, 1, 2);
  for (int i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, burn_until_done, NULL);
    pthread_create(&threads[2 + i], NULL, block_until_done, &interrupted[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("interrupted %ld\n", interrupted[0] + interrupted[1]);
  report_rusage();
  return 0;
}
