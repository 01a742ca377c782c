// What the table of the engines samples (engines.py): one program per mode, for
// a fixed amount of work or of CPU time. Prints "cpu_ns eintr".
//
//   engine_target cpu ITERATIONS       computes
//   engine_target syscalls SECONDS     getppid() and short reads, no waits
//   engine_target poll SECONDS         poll() with and without a timeout
//   engine_target threads SECONDS      64 threads that compute, together
//   engine_target exec COUNT           children that execute this program;
//   prints
//                                      "cpu_ns killed"
//   engine_target deny COMMAND...      perf_event_open answers EACCES, as with
//                                      kernel.perf_event_paranoid = 3 on Debian

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 64, kChunk = 100000 };

static double clock_s(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute(uint64_t iterations) {
  uint64_t state = 1;
  for (uint64_t i = 0; i < iterations; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : "+r"(state));
  }
}

static void compute_for(double seconds) {
  const double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end) compute(kChunk);
}

static void call_for(double seconds) {
  const int zero = open("/dev/zero", O_RDONLY);
  char buffer[4096];
  while (clock_s(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
    for (int i = 0; i < 500; ++i) {
      syscall(SYS_getppid);
      if (read(zero, buffer, sizeof(buffer)) < 0) exit(3);
    }
  }
}

static long poll_for(double seconds) {
  int ends[2];
  if (pipe(ends) != 0) exit(3);
  struct pollfd quiet = {.fd = ends[0], .events = POLLIN};
  long eintr = 0;
  while (clock_s(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
    for (int i = 0; i < 500; ++i) {
      if (poll(&quiet, 1, i == 0) < 0 && errno == EINTR) ++eintr;
    }
  }
  return eintr;
}

static void* run_thread(void* seconds) {
  compute_for(*(double*)seconds);
  return NULL;
}

static void compute_in_threads(double seconds) {
  double each = seconds / kThreads;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, run_thread, &each) != 0) exit(3);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

// Each child computes for another while before it executes the program again.
static long execute_often(char** argv, int count) {
  long killed = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (freopen("/dev/null", "w", stdout) == NULL) _exit(3);
      compute_for(0.005 + 1e-5 * (i % 100));
      execl(argv[0], argv[0], "cpu", "1000000", (char*)NULL);
      _exit(4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
  }
  return killed;
}

static int deny_and_run(char** command) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 3;
  execvp(command[0], command);
  return 4;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* mode = argv[1];
  long result = 0;
  if (strcmp(mode, "deny") == 0) {
    return deny_and_run(argv + 2);
  } else if (strcmp(mode, "cpu") == 0) {
    compute(strtoull(argv[2], NULL, 10));
  } else if (strcmp(mode, "syscalls") == 0) {
    call_for(atof(argv[2]));
  } else if (strcmp(mode, "poll") == 0) {
    result = poll_for(atof(argv[2]));
  } else if (strcmp(mode, "threads") == 0) {
    compute_in_threads(atof(argv[2]));
  } else if (strcmp(mode, "exec") == 0) {
    result = execute_often(argv, atoi(argv[2]));
  } else {
    return 2;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%.0f %ld\n",
         1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
         result);
  return 0;
}
