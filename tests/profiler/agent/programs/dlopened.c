// dlopened LIBRARY OUTPUT: loads the agent at run time, profiles 300 ms of two
// threads, one of them from before, and unloads it while a tick may still come.
// Exit status 7.

#include <dlfcn.h>
#include <pthread.h>
#include <unspool/unspool.h>

#include "spin.h"

static void* spin(void* unused) {
  spin_ms(300);
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, spin, NULL) != 0) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 3;
  int (*start)(const unspool_options*) =
      (int (*)(const unspool_options*))dlsym(library, "unspool_start");
  int (*stop)(void) = (int (*)(void))dlsym(library, "unspool_stop");
  const unspool_options options = {
      .size = sizeof(options), .output = argv[2], .frequency = 1000};
  if (start(&options) != 0) return 4;
  spin_ms(300);
  pthread_join(thread, NULL);
  if (stop() != 0 || dlclose(library) != 0) return 5;
  spin_ms(50);
  return 7;
}
