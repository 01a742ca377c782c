// Control that goes where no return leads: longjmp, contexts, signal handlers
// on and off an alternate stack, vfork.

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static jmp_buf place;
static sigjmp_buf signal_place;
static volatile int sum;
static volatile int* volatile nowhere = (volatile int*)8;

__attribute__((noinline)) static void jump_out(int depth) {
  if (depth >= 0) longjmp(place, 1);
}

__attribute__((noinline)) static void jump_over(int frames) {
  if (frames == 0) {
    jump_out(frames);
  } else {
    jump_over(frames - 1);
  }
  ++sum;  // no tail call
}

static void jump(void) {
  for (volatile int frames = 0; frames < 4; ++frames) {
    if (setjmp(place) == 0) jump_over(frames);
  }
}

static void on_signal(int number) {
  ++sum;
  if (number == SIGUSR1) raise(SIGUSR2);
}

static void on_info(int number, siginfo_t* info, void* context) {
  sum += number + (info != NULL) + (context != NULL);
}

static void jump_from_handler(int number) { siglongjmp(signal_place, number); }

static void handle_signals(int flags) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = on_signal;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_sigaction = on_info;
  action.sa_flags |= SA_SIGINFO;
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR1);
  action.sa_flags = flags;
  action.sa_handler = jump_from_handler;
  sigaction(SIGSEGV, &action, NULL);
  if (sigsetjmp(signal_place, 1) == 0) *nowhere = 1;
}

static ucontext_t main_context, contexts[2];

// Above a gap, as no frame of the other stacks is near.
static void* map_stack(size_t size) {
  const size_t gap = 4 << 20;
  char* memory = mmap(NULL, gap + size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory + gap;
}

static void in_context(int number) {
  for (int i = 0; i < 3; ++i) {
    sum += number;
    swapcontext(&contexts[number], number == 0 ? &contexts[1] : &main_context);
  }
}

__attribute__((noinline)) static void switch_contexts(void) {
  for (int i = 0; i < 2; ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = map_stack(64 << 10);
    contexts[i].uc_stack.ss_size = 64 << 10;
    contexts[i].uc_link = &main_context;
    makecontext(&contexts[i], (void (*)(void))in_context, 1, i);
  }
  for (volatile int i = 0; i < 4; ++i) {
    swapcontext(&main_context, &contexts[0]);
  }
}

__attribute__((noinline)) static void start_processes(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  pid_t spawned = 0;
  char* const argv[] = {"true", NULL};
  if (posix_spawn(&spawned, "/bin/true", NULL, NULL, argv, environ) == 0) {
    waitpid(spawned, NULL, 0);
  }
}

int main(void) {
  jump();
  handle_signals(0);
  stack_t alternate = {.ss_sp = map_stack(64 << 10), .ss_size = 64 << 10};
  sigaltstack(&alternate, NULL);
  handle_signals(SA_ONSTACK);
  switch_contexts();
  start_processes();
  return 0;
}
