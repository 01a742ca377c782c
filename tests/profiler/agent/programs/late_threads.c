// late_threads KIND: a thread that begins without pthread_create() and uses 300
// ms while main waits for its end: "c11" by thrd_create(), "clone" by clone().
// Exit status 7; 8 if errno was changed.

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "spin.h"

static int spin(void* unused) {
  (void)unused;
  spin_ms(300);
  return 0;
}

// Without a TLS of its own; it ends by returning.
static int wait_for_clone(void) {
  enum { kStackBytes = 1 << 16 };
  static int tid;  // until it has ended (CLONE_CHILD_CLEARTID)
  char* const stack = mmap(NULL, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
                    CLONE_CHILD_CLEARTID;
  errno = 0;
  if (clone(spin, stack + kStackBytes, flags, NULL, &tid, NULL, &tid) < 0) {
    return 1;
  }
  if (errno != 0) return 8;
  for (int now; (now = __atomic_load_n(&tid, __ATOMIC_ACQUIRE)) != 0;) {
    syscall(SYS_futex, &tid, FUTEX_WAIT, now, NULL, NULL, 0);
  }
  return 7;
}

static int wait_for_c11(void) {
  thrd_t thread;
  errno = 0;
  if (thrd_create(&thread, spin, NULL) != thrd_success) return 1;
  if (errno != 0) return 8;
  thrd_join(thread, NULL);
  return 7;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  return strcmp(argv[1], "clone") == 0 ? wait_for_clone() : wait_for_c11();
}
