// nested_handlers [iterations]: work in signal handlers: on the thread's stack,
// on an alternate one, in a handler that interrupted a handler, and in one that
// a leaf without a frame of its own was interrupted for.

#define _GNU_SOURCE
#include <signal.h>
#include <unistd.h>

#include "burn.h"

static uint64_t iterations;

NOINLINE static void work_plain(void) { burn(iterations); }
NOINLINE static void work_alternate(void) { burn(iterations); }
NOINLINE static void work_nested(void) { burn(iterations); }
NOINLINE static void work_from_leaf(void) { burn(iterations); }

static void on_plain(int signal) {
  (void)signal;
  work_plain();
  __asm__ volatile("" ::: "memory");
}
static void on_alternate(int signal) {
  (void)signal;
  work_alternate();
  __asm__ volatile("" ::: "memory");
}
static void on_inner(int signal) {
  (void)signal;
  work_nested();
  __asm__ volatile("" ::: "memory");
}
static void on_outer(int signal) {
  (void)signal;
  raise(SIGUSR2);
  __asm__ volatile("" ::: "memory");
}
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  work_from_leaf();
  // Behind the two bytes of ud2.
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void set(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(signal, &action, NULL);
}

NOINLINE static void raise_plain(void) {
  set(SIGUSR1, on_plain, 0);
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");  // no tail call
}
NOINLINE static void raise_alternate(void) {
  set(SIGUSR1, on_alternate, SA_ONSTACK);
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");  // no tail call
}
NOINLINE static void raise_nested(void) {
  set(SIGUSR1, on_outer, SA_ONSTACK);
  set(SIGUSR2, on_inner, 0);
  raise(SIGUSR1);
  __asm__ volatile("" ::: "memory");  // no tail call
}
// A leaf: its return address is at the stack pointer.
NOINLINE static void leaf(void) { __asm__ volatile("ud2"); }
NOINLINE static void fault_in_leaf(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  leaf();
  __asm__ volatile("" ::: "memory");  // no tail call
}

int main(int argc, char** argv) {
  static char memory[1 << 16];
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
  iterations = (uint64_t)argument(argc, argv, 1, 300e6);
  sigaltstack(&stack, NULL);
  raise_plain();
  raise_alternate();
  raise_nested();
  fault_in_leaf();
  puts("done");
  report_rusage();
  return 0;
}
