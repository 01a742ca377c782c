// fork_storm SECONDS: four threads spin and allocate while a fifth forks; each
// child makes a thread, spins a little, and ends by _exit(). Then four threads
// fork at once. Exit status 7 if every fork, thread and child came to its end.

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spin.h"

static volatile int is_over;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void* spin(void* unused) {
  while (!is_over) {
    void* volatile memory = malloc(1000);
    free(memory);
  }
  return unused;
}

static void* spin_once(void* unused) {
  spin_ms(1);
  return unused;
}

static void fork_once(void) {
  const pid_t child = fork();
  if (child < 0) exit(1);
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, spin_once, NULL) != 0) _exit(2);
    pthread_join(thread, NULL);
    spin_ms(1);
    _exit(7);
  }
  int status;
  if (waitpid(child, &status, 0) != child) exit(3);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) exit(4);
}

static void* fork_until(void* end) {
  while (now() < *(double*)end) fork_once();
  return NULL;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, spin, NULL);
  double end = now() + seconds;
  fork_until(&end);
  is_over = 1;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  end = now() + seconds;
  for (int i = 0; i < 4; ++i) {
    pthread_create(&threads[i], NULL, fork_until, &end);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 7;
}
