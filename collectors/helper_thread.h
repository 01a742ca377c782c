// A thread of ours beside the program's: how it begins, sleeps and ends so that
// the program hardly notices it.

#ifndef UNSPOOL_COLLECTORS_HELPER_THREAD_H_
#define UNSPOOL_COLLECTORS_HELPER_THREAD_H_

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

namespace unspool::collectors {

// All signals are blocked in it. It has a table of descriptors of its own, an
// empty one, where it can (has_own_files()). It is gone when the last thread
// ends of those that it is told of, and the one that started it; where others
// were there then, it may be the last one itself, and exit for the program
// (LeaveLast()).
class HelperThread {
 public:
  using Body = void (*)(void* owner);

  constexpr HelperThread() = default;
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Starts the thread, which runs body(owner), and waits until that calls
  // SetReady(). `own_mask` is what the program blocks in the calling thread,
  // which must block all signals now. Must not run. False: there is no thread
  // to be had. Not async-signal-safe: pthread_create() allocates.
  [[nodiscard]] bool Start(Body body, void* owner, const sigset_t& own_mask);

  // Has SleepUntil() return false, and waits for the body's end. Does nothing
  // if it does not run. Not async-signal-safe: waits.
  void Stop();

  // For the child after fork, which has no helper: makes this object ready for
  // Start(). Async-signal-safe.
  void ForgetAfterFork();

  // A thread's life as pthread_create() tells it, where it does: its creator
  // says Prepare and, if there is no new thread, Abandon; the new thread says
  // Begin. So the helper knows when the last one ends: a program whose main
  // thread ends by pthread_exit() lives as long as any thread does. Not
  // async-signal-safe: pthread_setspecific() may allocate.
  void PrepareThread() { program_threads_.fetch_add(1); }
  void AbandonThread() { program_threads_.fetch_sub(1); }
  void BeginThread();

  // Its thread id; 0 while there is none. Async-signal-safe.
  int32_t tid() const { return tid_.load(std::memory_order_acquire); }

  // The rest is for the body. Start() returns.
  void SetReady();
  // Until `deadline_ns` of CLOCK_MONOTONIC, and true; false: Stop() was called.
  [[nodiscard]] bool SleepUntil(uint64_t deadline_ns);
  // Thread `tid` waits for the helper, in Start() or Stop().
  bool IsAwaitedBy(int32_t tid) const {
    return waiting_tid_.load(std::memory_order_acquire) == tid;
  }
  // What it opens stays open only as long as it likes.
  bool has_own_files() const { return has_own_files_; }
  // It may outlive the program's other threads: nobody will tell of the end of
  // one of those that were there when it began.
  bool may_be_last() const { return may_be_last_; }
  // Last thing in a body when no other thread is left: handlers of the
  // program's exit will run in this one.
  void LeaveLast();

 private:
  bool CreateThread();
  static void OnThreadEnd(void* self);
  static void* ThreadMain(void* self);

  Body body_ = nullptr;
  void* owner_ = nullptr;
  sigset_t own_mask_{};
  pthread_t thread_{};
  std::atomic<bool> has_thread_{false};
  pthread_key_t key_ = 0;  // its destructor tells the end of a thread
  bool has_key_ = false;
  bool may_be_last_ = false;
  bool has_own_files_ = false;
  std::atomic<uint32_t> program_threads_{0};
  std::atomic<int32_t> tid_{0};
  std::atomic<uint32_t> stop_{0};  // a futex; 1: stop
  std::atomic<int32_t> waiting_tid_{0};
};

// Of CLOCK_MONOTONIC. Async-signal-safe.
uint64_t MonotonicNowNs();

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_HELPER_THREAD_H_
