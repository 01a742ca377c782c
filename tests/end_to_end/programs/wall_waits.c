// One thread for each way to wait, each in a function of its own, and one that
// alternates between running and sleeping. Every thread says how long it lived,
// how much CPU time it used, and how often a call failed with EINTR:
//   name tid lifetime_ns cpu_ns interrupted
// Usage: wall_waits ROUNDS; a round is 20 ms.

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "burn.h"

enum { kRoundNs = 20 * 1000 * 1000, kRoundMs = 20 };

static int rounds;
static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_round(void) {
  const struct timespec round = {0, kRoundNs};
  nanosleep(&round, NULL);
}

// Gives one byte or connection a round, from a thread of its own.
struct feeder {
  pthread_t thread;
  int fd;
  const struct sockaddr_in* address;
};

static void* feed(void* argument) {
  const struct feeder* feeder = argument;
  prctl(PR_SET_NAME, "feeder");
  for (int i = 0; i < rounds; ++i) {
    sleep_round();
    if (feeder->address == NULL) {
      if (write(feeder->fd, "x", 1) != 1) exit(90);
      continue;
    }
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (const struct sockaddr*)feeder->address,
                sizeof(*feeder->address)) != 0) {
      exit(91);
    }
    close(fd);
  }
  return NULL;
}

NOINLINE static int wait_in_poll(void) {
  int interrupted = 0;
  for (int i = 0; i < rounds; ++i) {
    if (poll(NULL, 0, kRoundMs) != 0) interrupted += errno == EINTR;
  }
  return interrupted;
}

NOINLINE static int wait_in_epoll(void) {
  int interrupted = 0;
  const int epoll = epoll_create1(0);
  struct epoll_event event;
  for (int i = 0; i < rounds; ++i) {
    if (epoll_wait(epoll, &event, 1, kRoundMs) != 0) {
      interrupted += errno == EINTR;
    }
  }
  return interrupted;
}

NOINLINE static int wait_in_nanosleep(void) {
  int interrupted = 0;
  const struct timespec round = {0, kRoundNs};
  for (int i = 0; i < rounds; ++i) {
    if (nanosleep(&round, NULL) != 0) interrupted += errno == EINTR;
  }
  return interrupted;
}

NOINLINE static int wait_in_semaphore(void) {
  int interrupted = 0;
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < rounds; ++i) {
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += kRoundNs;
    if (deadline.tv_nsec >= 1000000000) {
      deadline.tv_nsec -= 1000000000;
      ++deadline.tv_sec;
    }
    if (sem_timedwait(&semaphore, &deadline) != 0) {
      interrupted += errno == EINTR;
    }
  }
  return interrupted;
}

NOINLINE static int wait_in_recv(void) {
  int interrupted = 0;
  int sockets[2];
  const struct timeval timeout = {0, kRoundMs * 1000};
  char byte;
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) != 0) exit(92);
  setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  for (int i = 0; i < rounds; ++i) {
    if (recv(sockets[0], &byte, 1, 0) < 0) interrupted += errno == EINTR;
  }
  return interrupted;
}

NOINLINE static int wait_in_read(void) {
  int interrupted = 0;
  int ends[2];
  char byte;
  if (pipe(ends) != 0) exit(93);
  struct feeder feeder = {.fd = ends[1]};
  pthread_create(&feeder.thread, NULL, feed, &feeder);
  for (int i = 0; i < rounds; ++i) {
    if (read(ends[0], &byte, 1) < 0) interrupted += errno == EINTR;
  }
  pthread_join(feeder.thread, NULL);
  return interrupted;
}

NOINLINE static int wait_in_accept(void) {
  int interrupted = 0;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  if (bind(listener, (struct sockaddr*)&address, size) != 0 ||
      listen(listener, 8) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &size) != 0) {
    exit(94);
  }
  struct feeder feeder = {.address = &address};
  pthread_create(&feeder.thread, NULL, feed, &feeder);
  for (int i = 0; i < rounds; ++i) {
    const int fd = accept(listener, NULL, NULL);
    if (fd < 0) interrupted += errno == EINTR;
    close(fd);
  }
  pthread_join(feeder.thread, NULL);
  return interrupted;
}

NOINLINE static int hold_mutex(void) {
  pthread_mutex_lock(&contended);
  pthread_barrier_wait(&held);
  for (int i = 0; i < rounds; ++i) sleep_round();
  pthread_mutex_unlock(&contended);
  return 0;
}

NOINLINE static int wait_for_mutex(void) {
  pthread_barrier_wait(&held);
  pthread_mutex_lock(&contended);
  pthread_mutex_unlock(&contended);
  return 0;
}

NOINLINE static void run_a_round(void) {
  const double end = thread_cpu_seconds() + kRoundMs * 1e-3;
  while (thread_cpu_seconds() < end) burn(kBurnChunk);
}

NOINLINE static int run_and_wait(void) {
  for (int i = 0; i < rounds / 2; ++i) {
    run_a_round();
    sleep_round();
  }
  return 0;
}

struct kind {
  const char* name;
  int (*wait)(void);
};

static void* run_kind(void* argument) {
  const struct kind* kind = argument;
  prctl(PR_SET_NAME, kind->name);
  const int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
  const int interrupted = kind->wait();
  printf("%s %d %lld %lld %d\n", kind->name, (int)gettid(),
         (long long)(clock_ns(CLOCK_MONOTONIC) - begin_ns),
         (long long)clock_ns(CLOCK_THREAD_CPUTIME_ID), interrupted);
  return NULL;
}

int main(int argc, char** argv) {
  static const struct kind kinds[] = {
      {"poll", wait_in_poll},           {"epoll", wait_in_epoll},
      {"nanosleep", wait_in_nanosleep}, {"semaphore", wait_in_semaphore},
      {"recv", wait_in_recv},           {"read", wait_in_read},
      {"accept", wait_in_accept},       {"holder", hold_mutex},
      {"mutex", wait_for_mutex},        {"mixed", run_and_wait}};
  enum { kKinds = sizeof(kinds) / sizeof(kinds[0]) };
  pthread_t threads[kKinds];
  rounds = (int)argument(argc, argv, 1, 40);
  pthread_barrier_init(&held, NULL, 2);
  for (int i = 0; i < kKinds; ++i) {
    pthread_create(&threads[i], NULL, run_kind, (void*)&kinds[i]);
  }
  for (int i = 0; i < kKinds; ++i) pthread_join(threads[i], NULL);
  report_rusage();
  return 0;
}
