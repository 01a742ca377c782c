// spinner MS [return|_exit|kill|chdir|stderr PATH]: spins, says how much CPU
// time it used, and ends in one of several ways. Exit status 7 where it has
// one.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

int main(int argc, char** argv) {
  const char* how = argc > 2 ? argv[2] : "return";
  if (strcmp(how, "chdir") == 0 && chdir("/") != 0) return 1;
  if (strcmp(how, "stderr") == 0) {
    close(2);
    if (open(argv[3], O_CREAT | O_WRONLY, 0600) != 2) return 1;
  }
  spin_ms(atol(argv[1]));
  print_cpu();
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "_exit") == 0) _exit(7);
  return 7;
}
