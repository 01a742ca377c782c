// A POSIX timer on one thread's CPU clock that signals that thread.
//
// Raw system calls: glibc's timer_create() allocates, and the kernel's timer
// id, which tells a tick's timer (siginfo's si_timerid), is only known to us
// this way.

#ifndef UNSPOOL_COLLECTORS_CPU_TIMER_H_
#define UNSPOOL_COLLECTORS_CPU_TIMER_H_

#include <time.h>

#include <atomic>
#include <cstdint>

namespace unspool::collectors {

// The CPU clock of thread `tid` of this process: bits 0-1 say "scheduler time",
// bit 2 "of a thread" (Linux, include/linux/posix-timers_types.h:
// CPUCLOCK_SCHED, CPUCLOCK_PERTHREAD_MASK). Async-signal-safe.
constexpr clockid_t ThreadCpuClock(int32_t tid) {
  return static_cast<clockid_t>((~static_cast<uint32_t>(tid) << 3) | 6);
}

// What `clock` says, in ns. Async-signal-safe.
uint64_t ClockNs(clockid_t clock);

// CPU time of thread `tid` in ns; 0 if it is gone. Async-signal-safe.
uint64_t ThreadCpuNs(int32_t tid);
// The calling thread's. Async-signal-safe.
uint64_t OwnCpuNs();

// How often the kernel looks at CPU clocks (1 / CONFIG_HZ), in ns: no thread
// gets ticks faster than that. Async-signal-safe.
uint64_t KernelTickNs();

// Owns one kernel timer. Timers vanish at exec and are not inherited by fork,
// and the kernel gives ids out in ascending order, so that a tick of a deleted
// timer is told from one of its successor.
class CpuTimer {
 public:
  static constexpr int32_t kNone = -1;

  constexpr CpuTimer() = default;
  CpuTimer(const CpuTimer&) = delete;
  CpuTimer& operator=(const CpuTimer&) = delete;
  ~CpuTimer() { Delete(); }

  // Makes the timer, not yet running: after Arm(), thread `tid` gets `signal`
  // with si_code SI_TIMER and `cookie` in si_value. False: the thread is gone,
  // or RLIMIT_SIGPENDING is used up. Async-signal-safe.
  [[nodiscard]] bool Create(int32_t tid, int signal, uint64_t cookie);

  // First tick after `first_ns` of the thread's CPU time, then one each
  // `period_ns`; both > 0. Async-signal-safe.
  void Arm(uint64_t first_ns, uint64_t period_ns);

  // No more ticks. One that is pending may still be delivered.
  // Async-signal-safe.
  void Disarm();

  // True if it counts down. False for a timer whose thread ended.
  // Async-signal-safe.
  bool IsArmed() const;

  // Any number of times. Async-signal-safe.
  void Delete();

  // For the child after fork, which has no timers. Async-signal-safe.
  void ForgetAfterFork() { id_.store(kNone); }

  // The kernel's id, kNone if there is no timer. Sequentially consistent: see
  // invariant 1 of SamplingEngine. Async-signal-safe.
  int32_t id() const { return id_.load(); }

 private:
  std::atomic<int32_t> id_{kNone};
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_CPU_TIMER_H_
