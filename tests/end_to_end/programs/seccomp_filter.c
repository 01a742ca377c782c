// A program under a seccomp filter that forbids some system calls and allows
// all others.
//
// seccomp_filter CALL[,CALL…] kill|errno|trap exec COMMAND…
//   becomes COMMAND under the filter
// seccomp_filter CALL[,CALL…] kill|errno|trap prctl|seccomp [THREADS]
//   restricts itself, in one of the two ways that there are, and goes on: new
//   stacks and, one after the other, THREADS threads (4). A thread's end is a
//   madvise() of libc's.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

enum { kMaxCalls = 16, kStatus = 9, kDepth = 200 };

static const struct {
  const char* name;
  unsigned number;
} kCalls[] = {
    {"process_vm_readv", SYS_process_vm_readv},
    {"madvise", SYS_madvise},
    {"perf_event_open", SYS_perf_event_open},
    {"timer_create", SYS_timer_create},
    {"timer_delete", SYS_timer_delete},
    {"openat", SYS_openat},
    {"getdents64", SYS_getdents64},
    {"prctl", SYS_prctl},
    {"getppid", SYS_getppid},
    {"gettid", SYS_gettid},
};

static unsigned call_number(const char* name) {
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    if (strcmp(name, kCalls[i].name) == 0) return kCalls[i].number;
  }
  fprintf(stderr, "unknown call %s\n", name);
  exit(64);
}

static unsigned action_for(const char* name) {
  if (strcmp(name, "kill") == 0) return SECCOMP_RET_KILL_PROCESS;
  if (strcmp(name, "trap") == 0) return SECCOMP_RET_TRAP;
  return SECCOMP_RET_ERRNO | 1;  // EPERM
}

static void restrict_calls(char* names, const char* action, const char* how) {
  struct sock_filter code[2 * kMaxCalls + 2];
  unsigned short size = 0;
  code[size++] = (struct sock_filter)BPF_STMT(
      BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char* name = strtok(names, ","); name; name = strtok(NULL, ",")) {
    code[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                call_number(name), 0, 1);
    code[size++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action_for(action));
  }
  code[size++] =
      (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {size, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long result =
      strcmp(how, "prctl") == 0
          ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
          : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  if (result != 0) exit(65);
}

// Each depth and side is a stack of its own.
static NOINLINE double left(int depth);
static NOINLINE double right(int depth) {
  burn(kBurnChunk);
  return depth == 0 ? 1 : left(depth - 1) + 1;
}
static NOINLINE double left(int depth) {
  burn(kBurnChunk);
  return depth == 0 ? 1 : (depth % 3 ? right(depth - 1) : left(depth - 1)) + 1;
}

static void* thread_main(void* unused) {
  for (int i = 0; i < 500; ++i) burn(kBurnChunk);
  return unused;
}

static NOINLINE void after_filter(int threads) {
  double sum = 0;
  for (int depth = 1; depth < kDepth; depth += 7) sum += left(depth);
  if (sum < 1) exit(66);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, NULL) != 0) exit(67);
    pthread_join(thread, NULL);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 64;
  const char* usage_path = getenv("E2E_RUSAGE");
  if (strcmp(argv[3], "exec") == 0) {
    restrict_calls(argv[1], argv[2], "seccomp");
    execv(argv[4], argv + 4);
    return 65;
  }
  // Opened before openat may be forbidden.
  FILE* usage_file = usage_path != NULL ? fopen(usage_path, "w") : NULL;
  burn(100 * kBurnChunk);
  restrict_calls(argv[1], argv[2], argv[3]);
  after_filter((int)argument(argc, argv, 4, 4));
  puts("done");
  if (usage_file != NULL) {
    fprintf(usage_file, "%.0f\n", thread_cpu_seconds() * 1e9);
    fclose(usage_file);
  }
  return kStatus;
}
