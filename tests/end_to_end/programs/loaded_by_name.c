// A library that is loaded by a relative path, and does the work.
//
// loaded_by_name LIBRARY [CPU seconds [ROOT]]
//   LIBRARY: libfoo.so of foo_library.c    ROOT: for chroot(2), before

#include <dlfcn.h>
#include <unistd.h>

#include "burn.h"

static NOINLINE uint64_t main_callback(uint64_t iterations) {
  return burn(iterations);
}

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  if (argc > 3 && (chroot(argv[3]) != 0 || chdir("/") != 0)) return 67;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return 65;
  uint64_t (*foo_run)(uint64_t, uint64_t(*)(uint64_t)) =
      (uint64_t(*)(uint64_t, uint64_t(*)(uint64_t)))dlsym(library, "foo_run");
  if (foo_run == NULL) return 66;
  const double seconds = argument(argc, argv, 2, 1);
  uint64_t sum = 0;
  while (thread_cpu_seconds() < seconds) {
    sum += foo_run(10 * kBurnChunk, main_callback);
  }
  printf("done %d\n", sum != 0);
  report_rusage();
  return 0;
}
