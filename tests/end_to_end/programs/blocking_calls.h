// Calls that block and that the kernel never restarts after a signal
// (signal(7), "Interruption of system calls"): each EINTR is one that the
// program would not have seen without a profiler.

#ifndef UNSPOOL_TESTS_END_TO_END_PROGRAMS_BLOCKING_CALLS_H_
#define UNSPOOL_TESTS_END_TO_END_PROGRAMS_BLOCKING_CALLS_H_

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

struct blocking_objects {
  int epoll;
  int sockets[2];
  sem_t semaphore;
};

static inline void open_blocking(struct blocking_objects* objects) {
  const struct timeval timeout = {0, 5000};
  objects->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (objects->epoll < 0 ||
      socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, objects->sockets) !=
          0 ||
      setsockopt(objects->sockets[0], SOL_SOCKET, SO_RCVTIMEO, &timeout,
                 sizeof(timeout)) != 0 ||
      sem_init(&objects->semaphore, 0, 0) != 0) {
    exit(90);
  }
}

// One of each, 2 to 5 ms long; the number of those that failed with EINTR.
static inline long block_once(struct blocking_objects* objects) {
  long interrupted = 0;
  const struct timespec nap = {0, 2000000};
  struct epoll_event event;
  struct timespec deadline;
  char byte;
  if (poll(NULL, 0, 2) < 0 && errno == EINTR) ++interrupted;
  if (epoll_wait(objects->epoll, &event, 1, 2) < 0 && errno == EINTR) {
    ++interrupted;
  }
  if (nanosleep(&nap, NULL) != 0) ++interrupted;
  if (recv(objects->sockets[0], &byte, 1, 0) < 0 && errno == EINTR) {
    ++interrupted;
  }
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec += 2000000;
  if (deadline.tv_nsec >= 1000000000) {
    deadline.tv_nsec -= 1000000000;
    ++deadline.tv_sec;
  }
  if (sem_timedwait(&objects->semaphore, &deadline) != 0 && errno == EINTR) {
    ++interrupted;
  }
  return interrupted;
}

#endif  // UNSPOOL_TESTS_END_TO_END_PROGRAMS_BLOCKING_CALLS_H_
