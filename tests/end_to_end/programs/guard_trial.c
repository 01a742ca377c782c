// guard_trial NAME: a signal handler, installed as libunspool.so installs its
// own, makes the call of that name ("nothing" makes none).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int __sigaction(int signal, const struct sigaction* action,
                       struct sigaction* old_action);

static const char* wanted;
static void* volatile memory;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int stop(struct dl_phdr_info* info, size_t size, void* data) {
  (void)info;
  (void)size;
  (void)data;
  return 1;
}

static void handler(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  (void)context;
  if (strcmp(wanted, "malloc") == 0) memory = malloc(10);
  if (strcmp(wanted, "calloc") == 0) memory = calloc(10, 10);
  if (strcmp(wanted, "realloc") == 0) memory = realloc(NULL, 10);
  if (strcmp(wanted, "free") == 0) free(memory);
  if (strcmp(wanted, "pthread_mutex_lock") == 0) pthread_mutex_lock(&mutex);
  if (strcmp(wanted, "dl_iterate_phdr") == 0) dl_iterate_phdr(stop, NULL);
  // What libc allocates counts.
  if (strcmp(wanted, "strdup") == 0) memory = strdup(wanted);
}

int main(int argc, char** argv) {
  wanted = argc > 1 ? argv[1] : "nothing";
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  struct sigaction now;
  __sigaction(SIGUSR1, &action, NULL);
  __sigaction(SIGUSR1, NULL, &now);
  raise(SIGUSR1);
  puts(now.sa_sigaction == handler ? "returned" : "not its own handler");
  return 0;
}
