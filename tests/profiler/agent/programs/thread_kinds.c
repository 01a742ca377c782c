// thread_kinds MS: threads of every kind that pthread_create makes, each under
// its own name: default, own stack, 16 KiB stack, joined late, detached, ended
// by pthread_exit, and one by C11's thrd_create, which pthread_create's
// stand-in does not see.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#include "spin.h"

static long ms;
static _Atomic int detached_done;

static void* run(void* name) {
  pthread_setname_np(pthread_self(), name);
  spin_ms(ms);
  if (strcmp(name, "exits") == 0) pthread_exit(NULL);
  if (strcmp(name, "detached") == 0) detached_done = 1;
  return name;
}

static int run_c11(void* name) {
  run(name);
  return 0;
}

static pthread_t start(const char* name, const pthread_attr_t* attributes) {
  pthread_t thread;
  if (pthread_create(&thread, attributes, run, (void*)name) != 0) exit(1);
  return thread;
}

int main(int argc, char** argv) {
  ms = argc > 1 ? atol(argv[1]) : 100;
  pthread_attr_t own, small, detached;
  pthread_attr_init(&own);
  pthread_attr_setstack(&own,
                        mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                        1 << 16);
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);

  pthread_t threads[4] = {start("default", NULL), start("own stack", &own),
                          start("16 KiB", &small), start("exits", NULL)};
  start("detached", &detached);
  thrd_t c11;
  if (thrd_create(&c11, run_c11, "c11") != thrd_success) return 1;
  for (int i = 0; i < 4; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    if ((i == 3) != (result == NULL)) return 2;
  }
  thrd_join(c11, NULL);
  while (!detached_done) usleep(1000);
  usleep(20000);  // its end
  print_cpu();
  return 0;
}
