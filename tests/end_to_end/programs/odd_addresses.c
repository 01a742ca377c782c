// OF-01: code that no file has: the vDSO's, generated at run time, of a library
// that is gone again, and addresses where there is none.
//
// odd_addresses LIBRARY [CPU seconds each]     LIBRARY: libfoo.so

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "burn.h"

static double seconds_each;
static double deadline;
static sigjmp_buf after_fault;

static void start_part(void) { deadline = thread_cpu_seconds() + seconds_each; }

static int in_part(void) { return thread_cpu_seconds() < deadline; }

static NOINLINE void ask_the_time(void) {
  struct timespec now;
  while (in_part()) {
    for (int i = 0; i < 10000; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
  }
}

static NOINLINE void run_generated(void) {
  // dec %rdi; jnz .-3; ret
  static const unsigned char kLoop[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
  void* code = mmap(NULL, sizeof kLoop, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) exit(65);
  memcpy(code, kLoop, sizeof kLoop);
  if (mprotect(code, sizeof kLoop, PROT_READ | PROT_EXEC) != 0) exit(66);
  void (*loop)(uint64_t) = (void (*)(uint64_t))code;
  while (in_part()) loop(10 * kBurnChunk);
}

static NOINLINE uint64_t callback(uint64_t iterations) {
  return burn(iterations);
}

static NOINLINE void run_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) exit(67);
  uint64_t (*run)(uint64_t, uint64_t(*)(uint64_t)) =
      (uint64_t(*)(uint64_t, uint64_t(*)(uint64_t)))dlsym(library, "foo_run");
  while (in_part()) run(10 * kBurnChunk, callback);
  if (dlclose(library) != 0) exit(68);
}

static void on_fault(int signal) {
  (void)signal;
  while (in_part()) burn(kBurnChunk);
  siglongjmp(after_fault, 1);
}

static NOINLINE void call_nothing(uint64_t address) {
  if (sigsetjmp(after_fault, 1) == 0) ((void (*)(void))address)();
}

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  seconds_each = argument(argc, argv, 2, 0.4);
  signal(SIGSEGV, on_fault);
  start_part();
  ask_the_time();
  start_part();
  run_generated();
  start_part();
  run_library(argv[1]);
  static const uint64_t kNowhere[] = {0, ~UINT64_C(0), 0xffffffff81000000};
  for (int i = 0; i < 3; ++i) {
    start_part();
    call_nothing(kNowhere[i]);
  }
  printf("done\n");
  report_rusage();
  return 0;
}
