// The helper's life, and its rounds; wall_look.cc is what it does with a
// thread.

#include "collectors/wall_clock.h"

#include <linux/close_range.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "collectors/cpu_timer.h"
#include "collectors/period.h"
#include "unwind/mapped_memory.h"

namespace unspool::collectors {
namespace {

// glibc takes static TLS out of a thread's stack, too.
constexpr size_t kHelperStackBytes = 256 << 10;
// The helper rests nine times as long as a round took, if that is longer than
// a period: with thousands of threads at high rates it takes a tenth of a CPU.
constexpr uint64_t kRestPerWork = 9;

}  // namespace

uint64_t WallClock::NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

WallClock::StartStatus WallClock::Start(const Config& config,
                                        Recorder& recorder,
                                        SpoolWriter& writer) {
  config_ = config;
  recorder_ = &recorder;
  writer_ = &writer;
  if (!AllocateMemory()) return StartStatus::kNoMemory;
  if (!has_key_) has_key_ = pthread_key_create(&key_, &OnThreadEnd) == 0;
  program_threads_.store(CountTasks());
  BeginThread();
  stop_.store(0);
  waiting_tid_.store(gettid());
  tid_.store(0);
  samples_.store(0);
  losses_.store(0);
  if (!StartThread()) return StartStatus::kNoThread;
  has_thread_.store(true);
  // Until all threads were looked at once: what that takes of the program's
  // rights it may give up next. And who looks for threads must know which one
  // is not the program's.
  while (tid() == 0) {
    syscall(SYS_futex, &tid_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  waiting_tid_.store(0);
  return StartStatus::kOk;
}

bool WallClock::AllocateMemory() {
  const size_t frame_count = config_.max_depth;
  if (frames_.size() >= frame_count) return true;
  const size_t size =
      sizeof(unwind::WalkScratch) + frame_count * sizeof(unwind::Frame);
  void* memory = unwind::MapZeroed(size);
  if (memory == nullptr) return false;
  scratch_ = new (memory) unwind::WalkScratch;
  frames_ = {reinterpret_cast<unwind::Frame*>(scratch_ + 1), frame_count};
  return true;
}

bool WallClock::StartThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kHelperStackBytes);
  int error = pthread_create(&thread_, &attributes, &ThreadMain, this);
  // Where static TLS is larger than that stack.
  if (error != 0) error = pthread_create(&thread_, nullptr, &ThreadMain, this);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

void WallClock::Stop() {
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

void WallClock::ForgetAfterFork() {
  has_thread_.store(false);
  tid_.store(0);
  threads_.Clear();
}

// A program may have used up all keys, or have had other threads before: then
// the helper may be the last one left, and leaves, too.
void WallClock::BeginThread() {
  if (has_key_) pthread_setspecific(key_, this);
}

void WallClock::OnThreadEnd(void* self) {
  auto& clock = *static_cast<WallClock*>(self);
  if (clock.program_threads_.fetch_sub(1) == 1) clock.Stop();
}

WallClock::Totals WallClock::totals() const {
  return {samples_.load(std::memory_order_relaxed),
          losses_.load(std::memory_order_relaxed)};
}

void* WallClock::ThreadMain(void* self) {
  auto& clock = *static_cast<WallClock*>(self);
  // A table of descriptors of its own, an empty one: no number is taken that
  // the program expects to get, and nothing that it closes is kept open. Not if
  // the helper may be the last thread and exit for the program, which flushes
  // buffers into the program's descriptors.
  const bool is_never_last =
      clock.has_key_ && clock.program_threads_.load() == 1;
  clock.has_own_files_ = is_never_last && syscall(SYS_close_range, 0, ~0U,
                                                  CLOSE_RANGE_UNSHARE) == 0;
  clock.open_files_ = 0;
  prctl(PR_SET_NAME, "unspool");
  clock.checked_ns_ = NowNs();
  clock.refreshed_ns_ = 0;
  clock.round_ = 0;
  clock.unsampled_ns_ = 0;
  clock.threads_.Clear();
  clock.Run();
  return nullptr;
}

void WallClock::Run() {
  uint64_t next_ns = checked_ns_;
  uint64_t work_ns = Round();
  tid_.store(gettid(), std::memory_order_release);
  syscall(SYS_futex, &tid_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  while (!HaveAllEnded()) {
    const uint64_t rested_ns = NowNs() + work_ns * kRestPerWork;
    next_ns += config_.period_ns;
    if (next_ns < rested_ns) next_ns = rested_ns;
    if (!SleepUntil(next_ns) || !recorder_->sampling_wanted()) {
      return FinalRound();
    }
    recorder_->NoteTime(next_ns);
    work_ns = Round();
  }
  // Only the helper is left: when it ends, the program does.
  FinalRound();
  pthread_sigmask(SIG_SETMASK, &config_.own_mask, nullptr);
}

// False: Stop() was called.
bool WallClock::SleepUntil(uint64_t deadline_ns) {
  const timespec deadline = {
      .tv_sec = static_cast<time_t>(deadline_ns / kNsPerSecond),
      .tv_nsec = static_cast<long>(deadline_ns % kNsPerSecond)};
  while (stop_.load(std::memory_order_acquire) == 0) {
    // An absolute time of CLOCK_MONOTONIC (futex(2)).
    const long result = syscall(SYS_futex, &stop_, FUTEX_WAIT_BITSET_PRIVATE, 0,
                                &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result < 0 && NowNs() >= deadline_ns) return true;
  }
  return false;
}

// Gives the CPU time that it took.
uint64_t WallClock::Round() {
  const uint64_t cpu_ns = ThreadCpuNs(gettid());
  const uint64_t now_ns = NowNs();
  const uint32_t tasks = CountTasks();
  const bool is_due = now_ns - refreshed_ns_ >= kNsPerSecond;
  if (tasks != 0 && (tasks != threads_.used() + 1 || is_due || is_list_old_)) {
    Refresh(now_ns);
  }
  checked_ns_ = now_ns;
  threads_.ForEach([&](WallThread& thread) {
    if (thread.next_round <= round_) Look(thread);
  });
  ++round_;
  return ThreadCpuNs(gettid()) - cpu_ns;
}

// Everything up to now, also of threads whose look is not due.
void WallClock::FinalRound() {
  threads_.ForEach([&](WallThread& thread) {
    Look(thread);
    TaskName name{};
    if (ReadTaskName(thread.tid, name) && name != thread.name) {
      writer_->SetThreadName(thread.log, name.data());
    }
    End(thread);
  });
}

void WallClock::Refresh(uint64_t now_ns) {
  const int32_t self = gettid();
  bool has_any = false;
  TaskList tasks;
  while (const int32_t tid = tasks.Next()) {
    has_any = true;
    if (tid == self) continue;
    WallThread* thread = threads_.Find(tid);
    if (thread == nullptr) {
      thread = threads_.Add(tid);
      if (thread == nullptr) continue;
      Begin(*thread, round_ == 0 ? now_ns : checked_ns_);
    }
    thread->listed_round = round_;
  }
  if (!has_any) return;  // the directory could not be read
  threads_.ForEach([&](WallThread& thread) {
    if (thread.listed_round != round_) End(thread);
  });
  refreshed_ns_ = now_ns;
  is_list_old_ = false;
}

bool WallClock::HaveAllEnded() {
  bool have = threads_.used() != 0;
  threads_.ForEach(
      [&](const WallThread& thread) { have = have && thread.is_ended; });
  return have;
}

// A new thread counts from the round before: those that come and go between two
// rounds are not seen, the others stand for them.
void WallClock::Begin(WallThread& thread, uint64_t since_ns) {
  writer_->AddThread(thread.log, thread.tid, "");
  thread.seen_ns = since_ns;
  thread.next_round = round_;
  if (round_ == 0) {
    thread.cpu_ns = ThreadCpuNs(thread.tid);
    thread.run_delay_ns = ReadRunDelayNs(thread.tid);
  }
}

}  // namespace unspool::collectors
