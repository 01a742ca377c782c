// ends HOW: spins for 300 ms, then ends in one of many ways; those that have a
// status end with 7.

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"

extern char** environ;

// A malloc() that is not to be interrupted by another: 0 free, 1 interrupted
// by a signal that ends the program.
static volatile sig_atomic_t in_malloc;
static volatile sig_atomic_t is_armed;

static void complain(void) {
  static const char kText[] = "malloc in malloc\n";
  if (write(2, kText, sizeof(kText) - 1) < 0) return;
  raise(SIGKILL);
}

extern void* __libc_malloc(size_t size);
void* malloc(size_t size) {
  if (in_malloc) complain();
  if (is_armed) {
    in_malloc = 1;
    raise(SIGUSR1);
  }
  return __libc_malloc(size);
}
extern void* __libc_realloc(void* memory, size_t size);
void* realloc(void* memory, size_t size) {
  if (in_malloc) complain();
  return __libc_realloc(memory, size);
}
extern void __libc_free(void* memory);
void free(void* memory) {
  if (in_malloc) complain();
  __libc_free(memory);
}

static void exit_in_handler(int number) {
  (void)number;
  exit(7);
}
static void underscore_exit_in_handler(int number) {
  (void)number;
  _exit(7);
}

// The least that the kernel takes, plus what a small handler uses.
static void on_small_stack(void (*handler)(int)) {
  const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 8192;
  const stack_t stack = {.ss_sp = __libc_malloc(size), .ss_size = size};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}

static void exec_by(const char* how, const char* path) {
  char* const arguments[] = {(char*)path, "return", NULL};
  const char* name = path;
  if (strcmp(how, "execl") == 0) execl(path, path, "return", (char*)NULL);
  if (strcmp(how, "execle") == 0) {
    execle(path, path, "return", (char*)NULL, environ);
  }
  if (strcmp(how, "execlp") == 0) execlp(name, path, "return", (char*)NULL);
  if (strcmp(how, "execv") == 0) execv(path, arguments);
  if (strcmp(how, "execve") == 0) execve(path, arguments, environ);
  if (strcmp(how, "execvp") == 0) execvp(name, arguments);
  if (strcmp(how, "execvpe") == 0) execvpe(name, arguments, environ);
  if (strcmp(how, "fexecve") == 0) {
    fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, environ);
  }
  if (strcmp(how, "execveat") == 0) {
    execveat(AT_FDCWD, path, arguments, environ, 0);
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  spin_ms(300);
  if (strcmp(how, "exit") == 0) exit(7);
  if (strcmp(how, "_exit") == 0) _exit(7);
  if (strcmp(how, "_Exit") == 0) _Exit(7);
  if (strcmp(how, "quick_exit") == 0) quick_exit(7);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "signal") == 0) raise(atoi(argv[2]));
  if (strcmp(how, "handled") == 0) {
    signal(SIGTERM, exit_in_handler);
    raise(SIGTERM);
  }
  if (strcmp(how, "exit_in_malloc") == 0) {
    signal(SIGUSR1, exit_in_handler);
    is_armed = 1;
    void* volatile memory = malloc(100);
    free(memory);
  }
  if (strcmp(how, "exit_on_small_stack") == 0) on_small_stack(exit_in_handler);
  if (strcmp(how, "_exit_on_small_stack") == 0) {
    on_small_stack(underscore_exit_in_handler);
  }
  exec_by(how, argv[0]);
  return strcmp(how, "return") == 0 ? 7 : 1;
}
