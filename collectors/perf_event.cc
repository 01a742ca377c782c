#include "collectors/perf_event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "collectors/arch/calls.h"
#include "collectors/pid_namespace.h"
#include "collectors/tick.h"
#include "unwind/arch/arch.h"

namespace unspool::collectors {
namespace {

using unwind::RawSyscall;

constexpr size_t kPageSize = 4096;
// The least descriptor number that stands for a cookie: the standard streams'
// are likely to be the program's.
constexpr int32_t kFirstDescriptor = 3;

// What the creator and the child share. The child sets no errno: that is its
// creator's.
struct Attempt {
  const PerfEvent::Request* request = nullptr;
  bool ticks = true;
  void* page = nullptr;
  PerfObstacle obstacle = PerfObstacle::kNoProcess;
};

bool IsFailure(long result) { return result < 0 && result > -4096; }

PerfObstacle OpenFailure(long error) {
  switch (-error) {
    case EPERM:
    case EACCES:
      return PerfObstacle::kNotPermitted;
    case ENOSYS:
      return PerfObstacle::kNoCall;
    case EMFILE:
    case ENFILE:
      return PerfObstacle::kNoDescriptor;
    default:
      return PerfObstacle::kNotSupported;
  }
}

// An empty table of descriptors for the child alone: nothing of the program's
// is copied, or closed with consequences (close_range(2); before Linux 5.9 the
// table is copied).
bool LeaveDescriptors() {
  return RawSyscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0 ||
         RawSyscall(SYS_unshare, CLONE_FILES) == 0;
}

// The child's own; descriptor numbers are cookies.
void RaiseDescriptorLimit() {
  rlimit limit{};
  RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0,
             reinterpret_cast<long>(&limit));
  limit.rlim_cur = limit.rlim_max;
  RawSyscall(SYS_prlimit64, 0, RLIMIT_NOFILE, reinterpret_cast<long>(&limit));
}

long OpenEvent(const PerfEvent::Request& request) {
  perf_event_attr attr;
  std::memset(&attr, 0, sizeof(attr));
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.sample_period = request.period_ns;
  attr.disabled = 1;
  if (request.delivery == PerfEvent::Delivery::kTrap) {
    attr.sigtrap = 1;
    attr.remove_on_exec = 1;  // the kernel insists
    attr.sig_data = TickCookie(request.cookie);
  } else {
    attr.exclude_kernel = 1;
  }
  return RawSyscall(SYS_perf_event_open, reinterpret_cast<long>(&attr),
                    request.tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

// Gives the number that the signals will carry: that of the descriptor which
// asks for them.
long RouteSignals(long event, const PerfEvent::Request& request) {
  const long fd =
      RawSyscall(SYS_fcntl, event, F_DUPFD_CLOEXEC,
                 kFirstDescriptor + static_cast<long>(request.cookie));
  if (IsFailure(fd)) return fd;
  const f_owner_ex owner = {F_OWNER_TID, request.tid};
  RawSyscall(SYS_fcntl, fd, F_SETSIG, request.signal);
  RawSyscall(SYS_fcntl, fd, F_SETOWN_EX, reinterpret_cast<long>(&owner));
  return RawSyscall(SYS_fcntl, fd, F_SETFL, O_ASYNC);
}

PerfObstacle RunAttempt(Attempt& attempt) {
  if (!LeaveDescriptors()) return PerfObstacle::kNoProcess;
  RaiseDescriptorLimit();
  const PerfEvent::Request& request = *attempt.request;
  const long event = OpenEvent(request);
  if (IsFailure(event)) return OpenFailure(event);
  if (request.delivery == PerfEvent::Delivery::kSignal &&
      IsFailure(RouteSignals(event, request))) {
    return PerfObstacle::kNoDescriptor;
  }
  const long page = RawSyscall(SYS_mmap, 0, kPageSize, PROT_READ | PROT_WRITE,
                               MAP_SHARED, event, 0);
  if (IsFailure(page)) return PerfObstacle::kNoLockedMemory;
  attempt.page = reinterpret_cast<void*>(page);
  if (attempt.ticks) RawSyscall(SYS_ioctl, event, PERF_EVENT_IOC_ENABLE);
  return PerfObstacle::kNone;
}

void RunInChild(void* argument) {
  auto* attempt = static_cast<Attempt*>(argument);
  attempt->obstacle = RunAttempt(*attempt);
}

void RunAttemptInChild(Attempt& attempt) {
  if (!StayChildrenInOurPidNamespace()) return;
  // No exit signal: the program's SIGCHLD handler and its wait() see nothing.
  const int64_t pid = unspool_call_in_child(
      CLONE_VM | CLONE_VFORK | CLONE_FILES, &RunInChild, &attempt);
  if (pid > 0) RawSyscall(SYS_wait4, pid, 0, __WALL);
}

}  // namespace

PerfObstacle PerfEvent::Open(const Request& request) {
  Close();
  Attempt attempt;
  attempt.request = &request;
  // Before the first tick, which is for an open event.
  tid_.store(request.tid);
  RunAttemptInChild(attempt);
  page_ = attempt.page;
  if (attempt.obstacle != PerfObstacle::kNone) Close();
  return attempt.obstacle;
}

PerfObstacle PerfEvent::Try(Delivery delivery) {
  Request request;
  request.delivery = delivery;
  request.tid = gettid();
  request.signal = SIGURG;  // never sent
  request.period_ns = 1'000'000'000;
  Attempt attempt;
  attempt.request = &request;
  attempt.ticks = false;
  RunAttemptInChild(attempt);
  if (attempt.page != nullptr) munmap(attempt.page, kPageSize);
  return attempt.obstacle;
}

void PerfEvent::Close() {
  tid_.store(0);
  if (page_ != nullptr) munmap(page_, kPageSize);
  page_ = nullptr;
}

[[gnu::hot]] std::optional<uint32_t> PerfCookie(const siginfo_t& info) {
  // <bits/types/siginfo_t.h> of glibc 2.36 knows of no si_perf_data, which lies
  // behind si_addr (Linux, include/uapi/asm-generic/siginfo.h).
  constexpr int kTrapPerf = 6;
  if (info.si_signo == SIGTRAP) {
    uint64_t data = 0;
    std::memcpy(&data, &info.si_addr + 1, sizeof(data));
    if (info.si_code != kTrapPerf) return std::nullopt;
    return ParseTickCookie(data);
  }
  if (info.si_code != POLL_IN || info.si_band != (POLLIN | POLLRDNORM) ||
      info.si_fd < kFirstDescriptor) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(info.si_fd - kFirstDescriptor);
}

}  // namespace unspool::collectors
