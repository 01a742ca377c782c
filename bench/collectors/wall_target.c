// What the wall clock's table watches (wall.py): idle threads, half of them in
// epoll_wait(), half in pthread_cond_wait(), and main, which computes.
//
//   wall_target THREADS SECONDS
//
// Prints "helper_cpu_ns wall_ns": what the thread named "unspool" used, of what
// passed, once all threads are there.

#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void* idle_in_epoll(void* argument) {
  struct epoll_event event;
  epoll_wait(*(int*)argument, &event, 1, -1);
  return NULL;
}

static void* idle_in_condition(void* argument) {
  pthread_mutex_lock(&mutex);
  for (;;) pthread_cond_wait(&never, &mutex);
  return argument;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void spin_until(int64_t end_ns) {
  while (now_ns() < end_ns) {
    for (volatile int i = 0; i < 100000; ++i) {
    }
  }
}

static int has_name(const char* tid, const char* wanted) {
  char path[300];
  char name[32] = "";
  snprintf(path, sizeof(path), "/proc/self/task/%s/comm", tid);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  const int is_read = fgets(name, sizeof(name), file) != NULL;
  fclose(file);
  name[strcspn(name, "\n")] = '\0';
  return is_read && strcmp(name, wanted) == 0;
}

// CPU time of the thread of that name; 0 if there is none.
static int64_t thread_cpu_ns(const char* name) {
  struct timespec cpu = {0, 0};
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) {
    if (!has_name(entry->d_name, name)) continue;
    // A thread's CPU clock by its id (include/linux/posix-timers_types.h).
    clock_gettime((~(clockid_t)atoi(entry->d_name) << 3) | 6, &cpu);
  }
  closedir(tasks);
  return cpu.tv_sec * INT64_C(1000000000) + cpu.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int threads = atoi(argv[1]);
  int epoll = epoll_create1(0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes,
                       i % 2 == 0 ? idle_in_epoll : idle_in_condition,
                       &epoll) != 0) {
      return 90;
    }
  }
  spin_until(now_ns() + 500000000);  // all are there, and known
  const int64_t begin_ns = now_ns();
  const int64_t begin_cpu_ns = thread_cpu_ns("unspool");
  spin_until(begin_ns + (int64_t)(atof(argv[2]) * 1e9));
  printf("%lld %lld\n", (long long)(thread_cpu_ns("unspool") - begin_cpu_ns),
         (long long)(now_ns() - begin_ns));
  return 0;
}
