// sigwait, sigwaitinfo and sigtimedwait, in front of libc's: a thread that
// waits for the sample signal blocks it, so the kernel would hand it our ticks
// as well as the program's own signals. (A signalfd gets them all the same:
// what reads it is an ordinary read().)

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "collectors/tick.h"
#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"

namespace unspool::profiler {
namespace {

using Sigtimedwait = int (*)(const sigset_t*, siginfo_t*, const timespec*);
constinit NextFunction<Sigtimedwait> next_sigtimedwait("sigtimedwait");

[[gnu::constructor]] void FindNextFunctions() { next_sigtimedwait.get(); }

constexpr int64_t kSecondNs = 1'000'000'000;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

// As sigtimedwait(2), but for ticks of ours, which it drops: their time is told
// as that of a thread that blocks the signal.
int WaitForProgramsSignal(const sigset_t* set, siginfo_t* info,
                          const timespec* timeout) {
  siginfo_t own_info;
  if (info == nullptr) info = &own_info;
  timespec left;
  const timespec* wait = timeout;
  const bool is_valid = timeout != nullptr && timeout->tv_sec < kSecondNs;
  const int64_t end =
      is_valid ? NowNs() + timeout->tv_sec * kSecondNs + timeout->tv_nsec : 0;
  for (;;) {
    const int signal = next_sigtimedwait.get()(set, info, wait);
    if (signal < 0 || !collectors::TickIndex(*info).has_value()) return signal;
    if (!is_valid) continue;
    const int64_t rest = end - NowNs();
    left = {};
    if (rest > 0) left = {rest / kSecondNs, rest % kSecondNs};
    wait = &left;
  }
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info,
                                const timespec* timeout) {
  return unspool::profiler::WaitForProgramsSignal(set, info, timeout);
}

UNSPOOL_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return unspool::profiler::WaitForProgramsSignal(set, info, nullptr);
}

// Goes on after EINTR, and gives the error, as libc's.
UNSPOOL_EXPORT int sigwait(const sigset_t* set, int* signal) {
  const int saved_errno = errno;
  int result;
  do {
    result = unspool::profiler::WaitForProgramsSignal(set, nullptr, nullptr);
  } while (result < 0 && errno == EINTR);
  const int error = result < 0 ? errno : 0;
  errno = saved_errno;
  if (error == 0) *signal = result;
  return error;
}
