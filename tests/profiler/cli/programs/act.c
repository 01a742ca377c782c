/* Does what its arguments say, one after the other:
 *
 *   spin MS       burns that much CPU time
 *   sleep MS      waits
 *   say TEXT      a line on stdout
 *   touch FILE    creates it
 *   fds           a line with the numbers of all open descriptors
 *   env NAME      a line with a variable's value
 *   signals       lines with the blocked and ignored signals, as in /proc
 *   count N MS    a line with how often signal N came in that time, from the
 *                 line "ready" on
 *   raise N       sends itself a signal
 *   exec FILE ... becomes that program; the rest are its arguments
 *   run FILE ...  the same in a child, and waits for it
 *   leave         ends, and leaves a child that does the rest
 *   name TEXT     calls itself so
 *   exit N
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t count;

static void Count(int signal) {
  (void)signal;
  ++count;
}

static double Seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A function of its own, so that profiles have a name to look for. */
__attribute__((noinline)) void Spin(double seconds) {
  const double end = Seconds(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (Seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
    for (volatile int i = 0; i < 10000; ++i) {
    }
  }
}

static void Sleep(double seconds) {
  const double end = Seconds(CLOCK_MONOTONIC) + seconds;
  while (Seconds(CLOCK_MONOTONIC) < end) usleep(1000);
}

static void PrintDescriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  const struct dirent* entry;
  while ((entry = readdir(directory)) != NULL) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory)) {
      printf("%s ", entry->d_name);
    }
  }
  printf("\n");
  closedir(directory);
}

static void PrintSignals(void) {
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof(line), status) != NULL) {
    if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0) {
      fputs(line, stdout);
    }
  }
  fclose(status);
}

static void CountSignals(int signal_number, double seconds) {
  signal(signal_number, Count);
  printf("ready\n");
  fflush(stdout);
  Sleep(seconds);
  printf("%d\n", (int)count);
}

/* In the background of a shell, as it were. */
static void Leave(void) {
  const pid_t child = fork();
  if (child == 0) return;
  printf("left %d\n", (int)child);
  exit(0);
}

static void Run(char** arguments) {
  const pid_t child = fork();
  if (child == 0) {
    execv(arguments[0], arguments);
    exit(98);
  }
  waitpid(child, NULL, 0);
  exit(0);
}

/* Returns how many arguments it used beside its own name. */
static int Act(char** argument) {
  const char* what = argument[0];
  if (strcmp(what, "fds") == 0) return PrintDescriptors(), 0;
  if (strcmp(what, "signals") == 0) return PrintSignals(), 0;
  if (strcmp(what, "leave") == 0) return Leave(), 0;
  const char* text = argument[1];
  if (text == NULL) exit(99);
  const int number = atoi(text);
  if (strcmp(what, "spin") == 0) Spin(number / 1e3);
  if (strcmp(what, "sleep") == 0) Sleep(number / 1e3);
  if (strcmp(what, "say") == 0) puts(text);
  if (strcmp(what, "env") == 0) puts(getenv(text) ? getenv(text) : "(unset)");
  if (strcmp(what, "touch") == 0) close(open(text, O_CREAT | O_WRONLY, 0666));
  if (strcmp(what, "raise") == 0) raise(number);
  if (strcmp(what, "exit") == 0) exit(number);
  if (strcmp(what, "name") == 0) prctl(PR_SET_NAME, text);
  if (strcmp(what, "run") == 0) Run(argument + 1);
  if (strcmp(what, "exec") == 0) {
    execv(text, argument + 1);
    exit(98);
  }
  if (strcmp(what, "count") != 0) return 1;
  CountSignals(number, atoi(argument[2]) / 1e3);
  return 2;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    i += Act(argv + i);
    fflush(stdout);
  }
  return 0;
}
