// held_locks FOLDER [CPU seconds]: one thread holds the loader's locks (it is
// inside the constructor of a library, and there inside dl_iterate_phdr) and
// stdio's, all the time that another one is sampled. That one runs in libraries
// that were there at the start and in one that came later, and starts and joins
// threads. A handler, or a stand-in for pthread_create(), that wanted one of
// the locks would wait for ever.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "burn.h"

static double cpu_seconds;
static sem_t held, done;
static uint64_t (*later_burn)(uint64_t iterations);

static int hold(struct dl_phdr_info* info, size_t size, void* data) {
  (void)info;
  (void)size;
  (void)data;
  flockfile(stdout);
  flockfile(stderr);
  sem_post(&held);
  while (sem_wait(&done) != 0) continue;
  funlockfile(stderr);
  funlockfile(stdout);
  return 1;
}

// The library's constructor calls it.
void in_constructor(void) { dl_iterate_phdr(hold, NULL); }

static void* load(void* path) {
  if (dlopen(path, RTLD_NOW) == NULL) exit(3);
  return NULL;
}

static int compare(const void* a, const void* b) {
  burn(100);
  return *(const int*)a - *(const int*)b;
}

NOINLINE static void sort(void) {
  int numbers[100];
  for (int i = 0; i < 100; ++i) numbers[i] = i * 7919 % 101;
  qsort(numbers, 100, sizeof(int), compare);
}

static void* brief(void* unused) {
  burn(100000);
  return unused;
}

static void* work(void* unused) {
  while (thread_cpu_seconds() < cpu_seconds) {
    for (int i = 0; i < 10; ++i) {
      sort();
      later_burn(100000);
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, brief, NULL) != 0) exit(4);
    pthread_join(thread, NULL);
  }
  sem_post(&done);
  return unused;
}

int main(int argc, char** argv) {
  cpu_seconds = argument(argc, argv, 2, 1);
  if (argc < 2) return 2;
  char holds[4096], burns[4096];
  snprintf(holds, sizeof(holds), "%s/libholds.so", argv[1]);
  snprintf(burns, sizeof(burns), "%s/liblater_burn.so", argv[1]);
  void* later = dlopen(burns, RTLD_NOW);
  if (later == NULL) return 2;
  later_burn = (uint64_t(*)(uint64_t))dlsym(later, "later_burn");
  sem_init(&held, 0, 0);
  sem_init(&done, 0, 0);
  pthread_t holder, worker;
  pthread_create(&holder, NULL, load, holds);
  while (sem_wait(&held) != 0) continue;
  pthread_create(&worker, NULL, work, NULL);
  pthread_join(worker, NULL);
  pthread_join(holder, NULL);
  puts("done");
  report_rusage();
  return 0;
}
