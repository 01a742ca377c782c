// plt_calls LIBRARY: half of its time in a function that is called by a stub,
// the other half in binding the stubs of LIBRARY (plt_caller.c), which it loads
// and unloads.

#include <dlfcn.h>

#include "burn.h"

extern void call_00(void);

NOINLINE static void call_stub(double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) {
    for (int i = 0; i < kBurnChunk; ++i) call_00();
  }
}

NOINLINE static void bind_stubs(const char* library, double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) {
    void* handle = dlopen(library, RTLD_LAZY);
    if (handle == NULL) exit(2);
    void (*call_all)(void);
    *(void**)&call_all = dlsym(handle, "call_all");
    call_all();
    dlclose(handle);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  call_stub(0.7);
  bind_stubs(argv[1], 0.7);
  report_rusage();
  return 0;
}
