// stale_stacks [iterations]: memory that was a readable stack a moment ago. In
// each round a thread spins on a stack of its own; then CFI (wrong_cfi_spin.S)
// leads there while it is mapped, and again when it is gone. At last a frame
// pointer is planted in the guard page above a thread's stack.
// Status 3 if the program's own SIGSEGV handler was called.

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "burn.h"

void spin_cfa_in_rbx(uint64_t value, uint64_t iterations);
void chain_through_rbp(uint64_t value, uint64_t iterations);
void spin_without_cfi(uint64_t frame_pointer, uint64_t iterations);

enum { kSize = 65536, kPage = 4096, kRounds = 5 };

static uint64_t iterations;

static void on_fault(int signal) {
  (void)signal;
  _exit(3);
}

static void* spin(void* unused) {
  burn(iterations);
  return unused;
}

static void* spin_below_guard(void* frame_pointer) {
  spin_without_cfi((uint64_t)frame_pointer, iterations * kRounds);
  return NULL;
}

// Runs a thread on the stack that ends at `low + kSize`.
static void run_on(char* low, void* (*routine)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, low, kSize);
  if (pthread_create(&thread, &attributes, routine, argument) != 0) exit(4);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

static char* map_stack(void) {
  char* low = mmap(NULL, kSize + kPage, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (low == MAP_FAILED || mprotect(low + kSize, kPage, PROT_NONE) != 0) {
    exit(4);
  }
  return low;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  iterations = (uint64_t)argument(argc, argv, 1, 30e6);
  for (int i = 0; i < kRounds; ++i) {
    char* low = map_stack();
    run_on(low, spin, NULL);
    const uint64_t inside = (uint64_t)low + kSize - 2048;
    spin_cfa_in_rbx(inside, iterations);
    munmap(low, kSize + kPage);
    spin_cfa_in_rbx(inside, iterations);
    chain_through_rbp(inside, iterations);
  }
  char* low = map_stack();
  run_on(low, spin_below_guard, low + kSize + 0x700);
  puts("done");
  report_rusage();
  return 0;
}
