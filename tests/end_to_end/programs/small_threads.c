// small_threads [iterations]: work on stacks that have little room: threads of
// PTHREAD_STACK_MIN, a thread with an alternate stack of 8 KiB, a coroutine on
// 16 KiB, and a SIGSEGV handler on the program's own alternate stack.

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "burn.h"

static uint64_t iterations;
static sigjmp_buf after_fault;
static ucontext_t main_context, fiber_context;

NOINLINE static void in_smallest_thread(void) { burn(iterations); }
NOINLINE static void beside_small_alternate(void) { burn(iterations); }
NOINLINE static void in_fiber(void) { burn(iterations); }
NOINLINE static void in_fault_handler(void) { burn(iterations); }

static void* smallest(void* unused) {
  in_smallest_thread();
  return unused;
}

static void* small_alternate(void* unused) {
  static char memory[8192];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
  if (sigaltstack(&stack, NULL) != 0) exit(4);
  beside_small_alternate();
  return unused;
}

static void on_fault(int signal) {
  (void)signal;
  in_fault_handler();
  siglongjmp(after_fault, 1);
}

static void fault_on_alternate_stack(void) {
  static char memory[32768];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
  struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  if (sigaltstack(&stack, NULL) != 0) exit(4);
  volatile int* volatile nowhere = NULL;
  if (sigsetjmp(after_fault, 1) == 0) *nowhere = 1;
}

static void run_thread(void* (*routine)(void*), size_t stack_bytes) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, stack_bytes) != 0 ||
      pthread_create(&thread, &attributes, routine, NULL) != 0) {
    exit(5);
  }
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  iterations = (uint64_t)argument(argc, argv, 1, 300e6);
  run_thread(smallest, (size_t)PTHREAD_STACK_MIN);
  run_thread(small_alternate, 1 << 20);
  static char stack[16384];
  getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = stack;
  fiber_context.uc_stack.ss_size = sizeof(stack);
  fiber_context.uc_link = &main_context;
  makecontext(&fiber_context, in_fiber, 0);
  swapcontext(&main_context, &fiber_context);
  fault_on_alternate_stack();
  puts("done");
  report_rusage();
  return 0;
}
