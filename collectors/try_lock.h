// The lock over the threads' table, and the signal mask that goes with it.
//
// Why not a pthread_mutex: the once-a-second thread scan runs in a signal
// handler and may try the lock, which POSIX promises for no mutex.

#ifndef UNSPOOL_COLLECTORS_TRY_LOCK_H_
#define UNSPOOL_COLLECTORS_TRY_LOCK_H_

#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "unwind/arch/arch.h"

namespace unspool::collectors {

// Every signal, glibc's own for pthread_cancel() too, which sigfillset() leaves
// out: a thread with asynchronous cancelability would end in the middle of our
// code. Not the one by which setuid() and its like change all threads
// (nptl/internal-signals.h): who calls them waits for us. Async-signal-safe.
inline sigset_t EverySignal() {
  constexpr uint64_t kSetxid = uint64_t{1} << (33 - 1);
  const uint64_t word = ~kSetxid;
  sigset_t all{};
  std::memcpy(&all, &word, sizeof(word));
  return all;
}

// Blocks every signal for the calling thread while it lives. Who holds a lock
// of ours blocks signals first: a handler of the program that never returns
// (exit(), longjmp()) can then not keep the lock. Async-signal-safe.
class SignalBlock {
 public:
  SignalBlock() {
    const sigset_t all = EverySignal();
    SetMask(all, &previous_);
  }
  ~SignalBlock() { SetMask(previous_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

  // The mask that the thread had before, and will have again.
  const sigset_t& previous() const { return previous_; }

 private:
  // By the system call: pthread_sigmask() leaves glibc's signals alone.
  static void SetMask(const sigset_t& mask, sigset_t* previous) {
    constexpr long kKernelBytes = 8;
    unwind::RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK,
                       reinterpret_cast<long>(&mask),
                       reinterpret_cast<long>(previous), kKernelBytes);
  }

  sigset_t previous_{};
};

// A futex lock (Drepper, "Futexes Are Tricky", mutex 2).
class TryLock {
 public:
  constexpr TryLock() = default;
  TryLock(const TryLock&) = delete;
  TryLock& operator=(const TryLock&) = delete;

  // Not async-signal-safe: waits for a holder that may be the interrupted code.
  void Lock();
  // True: the caller holds it now. Never waits. Async-signal-safe.
  [[nodiscard]] bool Try();
  // Async-signal-safe.
  void Unlock();
  // For the child after fork: another thread of the parent may have held it.
  // Async-signal-safe.
  void ForgetAfterFork() { word_.store(kFree, std::memory_order_relaxed); }

 private:
  enum : uint32_t { kFree = 0, kHeld = 1, kHeldWithWaiters = 2 };
  std::atomic<uint32_t> word_{kFree};
};

// Signals blocked and the lock held, for a scope.
// Not async-signal-safe: TryLock::Lock is not.
class QuietLock {
 public:
  explicit QuietLock(TryLock& lock) : lock_(lock) { lock_.Lock(); }
  ~QuietLock() { lock_.Unlock(); }
  QuietLock(const QuietLock&) = delete;
  QuietLock& operator=(const QuietLock&) = delete;

  const sigset_t& previous_mask() const { return signals_.previous(); }

 private:
  SignalBlock signals_;  // before the lock is taken, until after it is given up
  TryLock& lock_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TRY_LOCK_H_
