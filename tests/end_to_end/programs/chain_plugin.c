// EC-03, EC-04: a library made of chain.c is loaded, and does the work.
//
// chain_plugin LIBRARY [CPU seconds]

#include <dlfcn.h>

#include "burn.h"

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  if (dlopen(argv[1], RTLD_NOW) == NULL) return 65;
  // As hosts do that ask whether it is there.
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) return 66;
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(library, "chain_main");
  if (run == NULL) return 67;
  volatile int status = run(argc - 1, argv + 1);
  return status;
}
