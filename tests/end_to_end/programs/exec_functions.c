// Executes itself argv[1] times, by another exec function each time, after one
// that fails and CPU time of varied length. The program that has argv[1] = 0
// says whether the arguments and the environment arrived.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "burn.h"

extern char** environ;

static void spin(double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end) burn(kBurnChunk / 10);
}

static void fail(const char* why) {
  perror(why);
  exit(3);
}

static void execute(char* path, int rest) {
  char number[16];
  snprintf(number, sizeof(number), "%d", rest);
  char* arguments[] = {path, number, "a b", NULL};
  switch (rest % 9) {
    case 0:
      execl(path, path, number, "a b", (char*)NULL);
      break;
    case 1:
      execlp(path, path, number, "a b", (char*)NULL);
      break;
    case 2:
      execle(path, path, number, "a b", (char*)NULL, environ);
      break;
    case 3:
      execv(path, arguments);
      break;
    case 4:
      execvp(path, arguments);
      break;
    case 5:
      execvpe(path, arguments, environ);
      break;
    case 6:
      execve(path, arguments, environ);
      break;
    case 7:
      fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
      break;
    default:
      execveat(AT_FDCWD, path, arguments, environ, 0);
  }
  fail("exec");
}

int main(int argc, char** argv) {
  if (argc != 3 || strcmp(argv[2], "a b") != 0) return 4;
  const char* mark = getenv("EXEC_MARK");
  if (mark == NULL || strcmp(mark, "kept") != 0) return 5;
  const int rest = atoi(argv[1]);
  // Some have the signals of all engines pending and blocked when they execute.
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  sigaddset(&set, SIGTRAP);
  spin(0.01);
  if (execl("/nonexistent", "x", (char*)NULL) != -1 || errno != ENOENT) {
    fail("the exec that must fail");
  }
  sigprocmask(rest % 2 ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
  spin(0.005 + 0.0001 * (rest % 10));
  if (rest != 0) execute(argv[0], rest - 1);
  puts("done");
  fflush(stdout);
  report_rusage();
  return 0;
}
