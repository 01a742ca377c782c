// The lock over the threads' table, and the signal mask that goes with it.
//
// Why not a pthread_mutex: the once-a-second thread scan runs in a signal
// handler and may try the lock, which POSIX promises for no mutex.

#ifndef UNSPOOL_COLLECTORS_TRY_LOCK_H_
#define UNSPOOL_COLLECTORS_TRY_LOCK_H_

#include <signal.h>

#include <atomic>
#include <cstdint>

namespace unspool::collectors {

// Blocks every signal for the calling thread while it lives. Who holds a lock
// of ours blocks signals first: a handler of the program that never returns
// (exit(), longjmp()) can then not keep the lock. Async-signal-safe.
class SignalBlock {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

  // The mask that the thread had before, and will have again.
  const sigset_t& previous() const { return previous_; }

 private:
  sigset_t previous_;
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
