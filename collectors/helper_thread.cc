#include "collectors/helper_thread.h"

#include <linux/close_range.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cpu_timer.h"
#include "collectors/period.h"
#include "collectors/task_list.h"

namespace unspool::collectors {
namespace {

// glibc takes static TLS out of a thread's stack, too.
constexpr size_t kStackBytes = 256 << 10;

}  // namespace

uint64_t MonotonicNowNs() { return ClockNs(CLOCK_MONOTONIC); }

bool HelperThread::Start(Body body, void* owner, const sigset_t& own_mask) {
  body_ = body;
  owner_ = owner;
  own_mask_ = own_mask;
  if (!has_key_) has_key_ = pthread_key_create(&key_, &OnThreadEnd) == 0;
  program_threads_.store(CountTasks());
  BeginThread();
  stop_.store(0);
  waiting_tid_.store(gettid());
  tid_.store(0);
  if (!CreateThread()) return false;
  has_thread_.store(true);
  // Until the body is ready: what it takes of the program's rights for that,
  // the program may give up next. And who looks for threads must know which one
  // is not the program's.
  while (tid() == 0) {
    syscall(SYS_futex, &tid_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  waiting_tid_.store(0);
  return true;
}

bool HelperThread::CreateThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  int error = pthread_create(&thread_, &attributes, &ThreadMain, this);
  // Where static TLS is larger than that stack.
  if (error != 0) error = pthread_create(&thread_, nullptr, &ThreadMain, this);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

void HelperThread::Stop() {
  if (!has_thread_.exchange(false)) return;
  waiting_tid_.store(gettid());
  stop_.store(1);
  syscall(SYS_futex, &stop_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  // The last thread of a program exits for it, and that may be the helper.
  if (pthread_equal(thread_, pthread_self()) == 0) {
    int state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_join(thread_, nullptr);
    pthread_setcancelstate(state, nullptr);
  }
  tid_.store(0, std::memory_order_release);
}

void HelperThread::ForgetAfterFork() {
  has_thread_.store(false);
  tid_.store(0);
}

// A program may have used up all keys, or have had other threads before: then
// the helper may be the last one left, and leaves, too.
void HelperThread::BeginThread() {
  if (has_key_) pthread_setspecific(key_, this);
}

void HelperThread::OnThreadEnd(void* self) {
  auto& helper = *static_cast<HelperThread*>(self);
  if (helper.program_threads_.fetch_sub(1) == 1) helper.Stop();
}

void* HelperThread::ThreadMain(void* self) {
  auto& helper = *static_cast<HelperThread*>(self);
  // No number is taken that the program expects to get, and nothing that it
  // closes is kept open. Not if the helper may be the last thread and exit for
  // the program, which flushes buffers into the program's descriptors.
  helper.may_be_last_ = !helper.has_key_ || helper.program_threads_.load() != 1;
  helper.has_own_files_ =
      !helper.may_be_last_ &&
      syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0;
  prctl(PR_SET_NAME, "unspool");
  helper.body_(helper.owner_);
  return nullptr;
}

void HelperThread::SetReady() {
  tid_.store(gettid(), std::memory_order_release);
  syscall(SYS_futex, &tid_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

bool HelperThread::SleepUntil(uint64_t deadline_ns) {
  const timespec deadline = {
      .tv_sec = static_cast<time_t>(deadline_ns / kNsPerSecond),
      .tv_nsec = static_cast<long>(deadline_ns % kNsPerSecond)};
  while (stop_.load(std::memory_order_acquire) == 0) {
    // An absolute time of CLOCK_MONOTONIC (futex(2)).
    const long result = syscall(SYS_futex, &stop_, FUTEX_WAIT_BITSET_PRIVATE, 0,
                                &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result < 0 && MonotonicNowNs() >= deadline_ns) return true;
  }
  return false;
}

void HelperThread::LeaveLast() {
  pthread_sigmask(SIG_SETMASK, &own_mask_, nullptr);
}

}  // namespace unspool::collectors
