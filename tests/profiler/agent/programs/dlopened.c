// dlopened LIBRARY OUTPUT: loads the agent at run time, profiles 300 ms of each
// of two threads, "early", from before, and "late", which main waits for, and
// unloads it while a tick may still come. Exit status 7.

#include <dlfcn.h>
#include <pthread.h>
#include <unspool/unspool.h>

#include "spin.h"

static void* spin(void* name) {
  pthread_setname_np(pthread_self(), name);
  spin_ms(300);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  pthread_t early, late;
  if (pthread_create(&early, NULL, spin, "early") != 0) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 3;
  int (*start)(const unspool_options*) =
      (int (*)(const unspool_options*))dlsym(library, "unspool_start");
  int (*stop)(void) = (int (*)(void))dlsym(library, "unspool_stop");
  const unspool_options options = {
      .size = sizeof(options), .output = argv[2], .frequency = 1000};
  if (start(&options) != 0) return 4;
  pthread_join(early, NULL);
  if (pthread_create(&late, NULL, spin, "late") != 0) return 6;
  pthread_join(late, NULL);
  if (stop() != 0 || dlclose(library) != 0) return 5;
  spin_ms(50);
  return 7;
}
