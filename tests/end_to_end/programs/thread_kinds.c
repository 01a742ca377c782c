// FE-07: threads that a profiler learns of in different ways, or in none. Each
// spins for argv[1] CPU seconds in a function of its own, and says at its end
// how much its clock shows: "function tid ns". main spins until all are
// through; they stay, so that what nobody told of is counted to its last
// nanosecond.

#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "burn.h"

enum { kKinds = 6 };

static double seconds;
static atomic_int ended;
static struct {
  const char* function;
  int tid;
  double used;
} results[kKinds];

// By system calls alone: a raw thread has no TLS, and so no libc.
static double own_seconds(void) {
  struct timespec now;
  register long result __asm__("rax") = SYS_clock_gettime;
  __asm__ volatile("syscall"
                   : "+r"(result)
                   : "D"(CLOCK_THREAD_CPUTIME_ID), "S"(&now)
                   : "rcx", "r11", "memory");
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int own_tid(void) {
  register long result __asm__("rax") = SYS_gettid;
  __asm__ volatile("syscall" : "+r"(result) : : "rcx", "r11", "memory");
  return (int)result;
}

static void stay(void) {
  for (;;) {
    register long result __asm__("rax") = SYS_pause;
    __asm__ volatile("syscall" : "+r"(result) : : "rcx", "r11", "memory");
  }
}

static void note(int kind, const char* function) {
  results[kind].function = function;
  results[kind].tid = own_tid();
  results[kind].used = own_seconds();
  atomic_fetch_add(&ended, 1);
}

#define SPINS(name, kind)                             \
  NOINLINE static void name(void) {                   \
    while (own_seconds() < seconds) burn(kBurnChunk); \
    note(kind, #name);                                \
    if (kind != 0) stay();                            \
  }
SPINS(spin_pthread, 0)
SPINS(spin_c11, 1)
SPINS(spin_timer, 2)
SPINS(spin_aio, 3)
SPINS(spin_raw, 4)
SPINS(spin_other_libc, 5)

static void* run_pthread(void* unused) {
  spin_pthread();
  return unused;
}

static int run_c11(void* unused) {
  (void)unused;
  spin_c11();
  return 0;
}

// glibc 2.36 blocks all signals here.
static void run_timer(union sigval unused) {
  (void)unused;
  spin_timer();
}

static void run_aio(union sigval unused) {
  (void)unused;
  spin_aio();
}

static int run_raw(void* unused) {
  (void)unused;
  spin_raw();
  return 0;
}

static void* run_other_libc(void* unused) {
  spin_other_libc();
  return unused;
}

static void start_timer(void) {
  static struct sigevent event;
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = run_timer;
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) exit(10);
  const struct itimerspec once = {.it_value = {.tv_nsec = 1}};
  timer_settime(timer, 0, &once, NULL);
}

static void start_aio(void) {
  static char byte;
  static struct aiocb request;
  request.aio_fildes = open("/dev/zero", O_RDONLY);
  request.aio_buf = &byte;
  request.aio_nbytes = 1;
  request.aio_sigevent.sigev_notify = SIGEV_THREAD;
  request.aio_sigevent.sigev_notify_function = run_aio;
  if (aio_read(&request) != 0) exit(11);
}

static void start_raw(void) {
  enum { kSize = 64 << 10 };
  char* stack = mmap(NULL, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                    CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(run_raw, stack + kSize, flags, NULL) < 0) exit(12);
}

// By a second libc, in a namespace of its own.
static void start_other_libc(void) {
  void* libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
  if (libc == NULL) exit(13);
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  *(void**)&create = dlsym(libc, "pthread_create");
  static pthread_t thread;
  if (create == NULL || create(&thread, NULL, run_other_libc, NULL) != 0) {
    exit(14);
  }
}

NOINLINE static void spin_main(void) {
  while (atomic_load(&ended) < kKinds) burn(kBurnChunk);
}

int main(int argc, char** argv) {
  seconds = argument(argc, argv, 1, 1);
  pthread_t posix;
  thrd_t c11;
  if (pthread_create(&posix, NULL, run_pthread, NULL) != 0) return 8;
  if (thrd_create(&c11, run_c11, NULL) != thrd_success) return 9;
  start_timer();
  start_aio();
  start_raw();
  start_other_libc();
  spin_main();
  for (int i = 0; i < kKinds; ++i) {
    printf("%s %d %.0f\n", results[i].function, results[i].tid,
           results[i].used * 1e9);
  }
  printf("spin_main %d %.0f\n", own_tid(), own_seconds() * 1e9);
  fflush(stdout);
  report_rusage();
  return 0;
}
