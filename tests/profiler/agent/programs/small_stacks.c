// small_stacks MS: ticks on stacks that hardly hold a handler: an alternate
// stack of MINSIGSTKSZ's old value, spinning in a signal handler on one of
// 8 KiB, and a coroutine on 16 KiB. The bytes below each stack must stay.

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "spin.h"

enum { kPage = 4096, kFill = 0x5a };

static long ms;
static ucontext_t main_context, fiber_context;

// A stack of `size` bytes above a page that must not change.
static char* new_stack(size_t size) {
  char* memory = mmap(NULL, kPage + size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, kFill, kPage);
  return memory + kPage;
}

static int is_page_below_untouched(const char* stack) {
  for (int i = 1; i <= kPage; ++i) {
    if (stack[-i] != kFill) return 0;
  }
  return 1;
}

static void on_user_signal(int signal) {
  (void)signal;
  spin_ms(ms);
}

static void use_alternate(char* stack, size_t size) {
  const stack_t alternate = {.ss_sp = stack, .ss_size = size};
  sigaltstack(&alternate, NULL);
}

// Off the alternate stack, with one too small for us registered; then on one.
static void* alternate_stacks(void* ok) {
  const size_t tiny = 4096, small = 8192;
  char* tiny_stack = new_stack(tiny);
  use_alternate(tiny_stack, tiny);
  spin_ms(ms);
  char* small_stack = new_stack(small);
  use_alternate(small_stack, small);
  raise(SIGUSR1);
  *(int*)ok = is_page_below_untouched(tiny_stack) &&
              is_page_below_untouched(small_stack);
  return NULL;
}

static void fiber(void) { spin_ms(ms); }

int main(int argc, char** argv) {
  ms = argc > 1 ? atol(argv[1]) : 200;
  struct sigaction action = {.sa_handler = on_user_signal,
                             .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  int alternate_ok = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, alternate_stacks, &alternate_ok);
  pthread_join(thread, NULL);

  char* stack = new_stack(16384);
  getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = stack;
  fiber_context.uc_stack.ss_size = 16384;
  fiber_context.uc_link = &main_context;
  makecontext(&fiber_context, fiber, 0);
  swapcontext(&main_context, &fiber_context);
  printf("alternate=%d fiber=%d\n", alternate_ok,
         is_page_below_untouched(stack));
  return 0;
}
