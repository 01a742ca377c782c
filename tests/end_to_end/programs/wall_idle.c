// Many threads that wait for what never comes, in two ways, and one that runs:
// main, for so many milliseconds of CPU time. Meanwhile it opens and closes the
// descriptor that is free, and says how often it was another one.
// Usage: wall_idle THREADS CPU_MS

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "burn.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

NOINLINE static void idle_in_epoll(int epoll) {
  struct epoll_event event;
  epoll_wait(epoll, &event, 1, -1);
}

NOINLINE static void idle_in_condition(void) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&never, &mutex);
}

static void* idle(void* argument) {
  const int epoll = *(int*)argument;
  if (epoll < 0) idle_in_condition();
  idle_in_epoll(epoll);
  return NULL;
}

NOINLINE static int run(double cpu_seconds) {
  const double end = thread_cpu_seconds() + cpu_seconds;
  int others = 0;
  const int expected = open("/dev/null", O_RDONLY);
  close(expected);
  while (thread_cpu_seconds() < end) {
    burn(kBurnChunk / 10);
    const int fd = open("/dev/null", O_RDONLY);
    others += fd != expected;
    close(fd);
  }
  return others;
}

int main(int argc, char** argv) {
  const int count = (int)argument(argc, argv, 1, 200);
  const double cpu_seconds = argument(argc, argv, 2, 1000) * 1e-3;
  static int none = -1;
  static int epoll;
  epoll = epoll_create1(0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, idle,
                       i % 2 == 0 ? &none : &epoll) != 0) {
      return 90;
    }
  }
  printf("other descriptors %d\n", run(cpu_seconds));
  report_rusage();
  return 0;
}
