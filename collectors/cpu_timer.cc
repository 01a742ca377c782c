#include "collectors/cpu_timer.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "collectors/period.h"

namespace unspool::collectors {
namespace {

uint64_t ToNs(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(time.tv_nsec);
}

timespec ToTimespec(uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond),
          static_cast<long>(ns % kNsPerSecond)};
}

}  // namespace

uint64_t ThreadCpuNs(int32_t tid) {
  timespec now{};
  if (syscall(SYS_clock_gettime, ThreadCpuClock(tid), &now) != 0) return 0;
  return ToNs(now);
}

[[gnu::hot]] uint64_t ClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return ToNs(now);
}

uint64_t OwnCpuNs() { return ClockNs(CLOCK_THREAD_CPUTIME_ID); }

uint64_t KernelTickNs() {
  // The coarse clocks advance once per tick (clock_getres(2)).
  timespec resolution{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &resolution);
  return ToNs(resolution);
}

bool CpuTimer::Create(int32_t tid, int signal, uint64_t cookie) {
  Delete();
  sigevent event;
  std::memset(&event, 0, sizeof(event));
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = reinterpret_cast<void*>(cookie);
  event._sigev_un._tid = tid;
  int32_t id = kNone;
  if (syscall(SYS_timer_create, ThreadCpuClock(tid), &event, &id) != 0) {
    return false;
  }
  id_.store(id);
  return true;
}

void CpuTimer::Arm(uint64_t first_ns, uint64_t period_ns) {
  const itimerspec spec = {ToTimespec(period_ns), ToTimespec(first_ns)};
  syscall(SYS_timer_settime, id(), 0, &spec, nullptr);
}

void CpuTimer::Disarm() {
  const itimerspec spec{};
  syscall(SYS_timer_settime, id(), 0, &spec, nullptr);
}

bool CpuTimer::IsArmed() const {
  // For a thread that ended the kernel leaves all zero (posix_cpu_timer_get).
  itimerspec spec{};
  return syscall(SYS_timer_gettime, id(), &spec) == 0 &&
         (spec.it_value.tv_sec != 0 || spec.it_value.tv_nsec != 0);
}

void CpuTimer::Delete() {
  const int32_t id = id_.exchange(kNone);
  if (id != kNone) syscall(SYS_timer_delete, id);
}

}  // namespace unspool::collectors
