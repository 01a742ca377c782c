// dies HOW: spins, then ends by that: exit, _exit, _Exit, quick_exit, abort, or
// a signal's number.

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

NOINLINE static void spin(void) {
  while (thread_cpu_seconds() < 0.5) burn(kBurnChunk);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  spin();
  report_rusage();
  if (strcmp(how, "exit") == 0) return 7;
  if (strcmp(how, "_exit") == 0) _exit(7);
  if (strcmp(how, "_Exit") == 0) _Exit(7);
  if (strcmp(how, "quick_exit") == 0) quick_exit(7);
  if (strcmp(how, "abort") == 0) abort();
  raise(atoi(how));
  return 1;
}
