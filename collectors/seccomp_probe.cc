#include "collectors/seccomp_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <new>
#include <type_traits>

#include "collectors/perf_event.h"
#include "collectors/pid_namespace.h"
#include "unwind/arch/arch.h"
#include "unwind/self_memory.h"

namespace unspool::collectors {
namespace {

template <typename T>
long ToWord(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

// Raw, without errno: a child of clone() shares nothing, but a filter's refusal
// must not be mistaken for anything else.
template <typename... Arguments>
long Call(long number, Arguments... arguments) {
  return unwind::RawSyscall(number, ToWord(arguments)...);
}

// Each tries its calls in the way that sampling makes them; true if all worked.

bool TryCopyMemory(void* page) {
  uint64_t word = 0;
  const iovec local = {&word, sizeof(word)};
  const iovec remote = {page, sizeof(word)};
  const long self = Call(SYS_gettid);
  return self > 0 && Call(SYS_process_vm_readv, self, &local, 1, &remote, 1,
                          0) == sizeof(word);
}

bool TryPopulate(void* page) {
  // Advice only: it must not kill.
  Call(SYS_madvise, page, unwind::kPageSize, MADV_NOHUGEPAGE);
  // EINVAL: before Linux 5.14, where the spool does without.
  const long result =
      Call(SYS_madvise, page, unwind::kPageSize, MADV_POPULATE_WRITE);
  return (result == 0 || result == -EINVAL) &&
         Call(SYS_mprotect, page, unwind::kPageSize, PROT_READ | PROT_WRITE) ==
             0;
}

// With all the calls that an event takes. Whether the kernel gives one is for
// the engine to find out, with the reason; here any answer but death and ENOSYS
// will do.
bool TryPerfEvent(void*) {
  const PerfObstacle obstacle = PerfEvent::Try(PerfEvent::Delivery::kSignal);
  const uint64_t no_signal = 0;
  const timespec now{};
  return obstacle != PerfObstacle::kNoCall &&
         obstacle != PerfObstacle::kNoProcess &&
         Call(SYS_rt_sigtimedwait, &no_signal, 0, &now, sizeof(no_signal)) ==
             -EAGAIN;
}

bool TryThreads(void*) {
  sigevent event;
  std::memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_NONE;
  int id = 0;
  timespec time{};
  itimerspec spec{};
  if (Call(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &id) != 0) {
    return false;
  }
  bool works = Call(SYS_timer_settime, id, 0, &spec, 0) == 0 &&
               Call(SYS_timer_gettime, id, &spec) == 0 &&
               Call(SYS_timer_delete, id) == 0;
  works = works && Call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time) == 0;
  const timespec nap{};
  works = works && Call(SYS_getpid) > 0 && Call(SYS_gettid) > 0 &&
          Call(SYS_nanosleep, &nap, 0) == 0;
  uint64_t mask = 0;
  works =
      works && Call(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof(mask)) == 0;
  const long page = Call(SYS_mmap, 0, unwind::kPageSize, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return works && page > 0 && Call(SYS_munmap, page, unwind::kPageSize) == 0;
}

// What a profile takes at the end, with names and numbers that are none.
bool TryWriting() {
  // It may fail: rename(2) is what is done then.
  Call(SYS_renameat2, AT_FDCWD, "", AT_FDCWD, "", RENAME_EXCHANGE);
  return Call(SYS_write, -1, "", 0) == -EBADF &&
         Call(SYS_fchmod, -1, 0) == -EBADF &&
         Call(SYS_readlink, "", 0, 0) == -EINVAL &&
         Call(SYS_rename, "", "") == -ENOENT && Call(SYS_unlink, "") == -ENOENT;
}

bool TryFiles(void* page) {
  // No /proc is no reason to fear the calls.
  struct stat status;
  const long found =
      Call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0);
  const long fd = Call(SYS_openat, AT_FDCWD, "/proc/self/task",
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (found == -ENOENT && fd == -ENOENT) return true;
  if (found != 0 || fd < 0) return false;
  // Into no buffer at all.
  if (Call(SYS_getcwd, 0, 0) != -ERANGE) return false;
  const bool works = Call(SYS_getdents64, fd, page, unwind::kPageSize) > 0 &&
                     Call(SYS_read, fd, page, 1) == -EISDIR;
  return Call(SYS_close, fd) == 0 && works && TryWriting();
}

bool TryThreadName(void* page) {
  return Call(SYS_prctl, PR_GET_NAME, page) == 0;
}

using Try = bool (*)(void* page);
constexpr std::array<Try, kOptionalCallCount> kTries = {
    &TryCopyMemory, &TryPopulate, &TryPerfEvent,
    &TryThreads,    &TryFiles,    &TryThreadName};

// In a page that parent and child share: a child that is killed has said where
// it was.
struct Progress {
  uint32_t next = 0;  // the try that is being made, or was the last
  uint32_t works = 0;
};

// A child that is killed leaves no core file. Only RLIMIT_CORE = 1 also tells a
// program that takes cores from a pipe to let be (Linux, fs/coredump.c).
void LeaveNoCore() {
  const rlimit no_core = {1, 1};
  if (IsAllowed(OptionalCall::kThreadName)) {
    Call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
  }
  Call(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, 0);
}

bool Restrict(const SeccompRequest& request) {
  // The child has one thread, and nobody will listen for it: no flags.
  return Call(SYS_seccomp, request.operation, 0, request.program) == 0;
}

[[noreturn]] void RunTries(const SeccompRequest* request, Progress& progress,
                           void* page) {
  LeaveNoCore();
  if (request == nullptr || Restrict(*request)) {
    while (progress.next < kOptionalCallCount) {
      if (kTries[progress.next](page)) progress.works |= 1u << progress.next;
      ++progress.next;
    }
  } else {
    // What is refused to the child is refused to the program: nothing changes.
    progress.works = OptionalCallSet::All().bits();
    progress.next = kOptionalCallCount;
  }
  Call(SYS_exit_group, 0);
  __builtin_trap();  // a filter that refuses even that
}

// The child shares neither memory (a kernel before 5.16 that dumps its core
// would end all who do) nor a signal (the program waits for its own children
// only). False: there can be none.
bool RunChild(const SeccompRequest* request, Progress& progress, void* page) {
  if (!StayChildrenInOurPidNamespace()) return false;
  const long child = Call(SYS_clone, 0, 0, 0, 0, 0);
  if (child < 0) return false;
  if (child == 0) RunTries(request, progress, page);
  while (Call(SYS_wait4, child, 0, __WALL, 0) == -EINTR) {
  }
  return true;
}

}  // namespace

bool HasSeccompFilter() {
  // Not by prctl(PR_GET_SECCOMP), which is deadly where a filter forbids it;
  // opening and reading files is what loading this code took.
  static char text[4096];  // one caller at a time, and on no stack
  const long fd =
      Call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  const long size = Call(SYS_read, fd, text, sizeof(text));
  Call(SYS_close, fd);
  static constexpr char kNone[] = "\nSeccomp:\t0\n";
  return size <= 0 || memmem(text, static_cast<size_t>(size), kNone,
                             sizeof(kNone) - 1) == nullptr;
}

OptionalCallSet FindForbiddenCalls(const SeccompRequest* request) {
  const uint32_t all = OptionalCallSet::All().bits();
  if (request != nullptr && request->operation == SECCOMP_SET_MODE_STRICT) {
    return OptionalCallSet::All();
  }
  void* shared = mmap(nullptr, 2 * unwind::kPageSize, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return OptionalCallSet::All();
  auto& progress = *new (shared) Progress;
  void* page = static_cast<uint8_t*>(shared) + unwind::kPageSize;
  // Each child that does not come to its end was killed by one call.
  while (progress.next < kOptionalCallCount) {
    if (!RunChild(request, progress, page)) break;
    if (progress.next < kOptionalCallCount) ++progress.next;
  }
  const uint32_t works = progress.works;
  munmap(shared, 2 * unwind::kPageSize);
  return OptionalCallSet::FromBits(all & ~works);
}

}  // namespace unspool::collectors
