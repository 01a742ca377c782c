// own_handler MS [return]: a program with a use of its own for SIGPROF, found
// after us. It must see its own handlers, its own signals, and none of ours.
// Prints how often each of its handlers ran, then returns, or ends by SIGPROF's
// default action.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "spin.h"

static volatile int ticks, strange;

static void on_tick(int signal, siginfo_t* info, void* context) {
  (void)context;
  if (signal != SIGPROF || info->si_code == SI_TIMER) ++strange;
  ++ticks;
}

static volatile int simple;
static void on_simple(int signal) {
  (void)signal;
  ++simple;
}

int main(int argc, char** argv) {
  const long ms = argc > 1 ? atol(argv[1]) : 200;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART}, old;
  action.sa_sigaction = on_tick;
  sigaction(SIGPROF, NULL, &old);
  if (old.sa_handler != SIG_DFL) return 1;
  sigaction(SIGPROF, &action, NULL);
  sigaction(SIGPROF, NULL, &old);
  if (old.sa_sigaction != on_tick ||
      (old.sa_flags & action.sa_flags) != action.sa_flags)
    return 2;
  const struct itimerval each = {{0, 20000}, {0, 20000}},
                         never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &each, NULL);
  spin_ms(ms);
  setitimer(ITIMER_PROF, &never, NULL);
  if (signal(SIGPROF, on_simple) == SIG_ERR) return 3;
  raise(SIGPROF);
  if (signal(SIGPROF, SIG_IGN) != on_simple) return 4;
  raise(SIGPROF);
  spin_ms(ms);
  printf("ticked=%d strange=%d simple=%d\n", ticks > 0, strange, simple);
  print_cpu();
  if (argc > 2) return 7;
  if (signal(SIGPROF, SIG_DFL) != SIG_IGN) return 5;
  spin_ms(ms);
  raise(SIGPROF);
  return 6;
}
