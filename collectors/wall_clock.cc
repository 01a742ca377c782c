// The helper's life, and its rounds; wall_look.cc is what it does with a
// thread.

#include "collectors/wall_clock.h"

#include <unistd.h>

#include <new>

#include "collectors/cpu_timer.h"
#include "collectors/period.h"
#include "unwind/mapped_memory.h"

namespace unspool::collectors {
namespace {

// The helper rests nine times as long as a round took, if that is longer than
// a period: with thousands of threads at high rates it takes a tenth of a CPU.
constexpr uint64_t kRestPerWork = 9;

}  // namespace

WallClock::StartStatus WallClock::Start(const Config& config,
                                        Recorder& recorder,
                                        SpoolWriter& writer) {
  config_ = config;
  recorder_ = &recorder;
  writer_ = &writer;
  if (!AllocateMemory()) return StartStatus::kNoMemory;
  samples_.store(0);
  losses_.store(0);
  // Ready when all threads were looked at once.
  return helper_.Start(&ThreadMain, this, config.own_mask)
             ? StartStatus::kOk
             : StartStatus::kNoThread;
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

void WallClock::ForgetAfterFork() {
  helper_.ForgetAfterFork();
  threads_.Clear();
}

WallClock::Totals WallClock::totals() const {
  return {samples_.load(std::memory_order_relaxed),
          losses_.load(std::memory_order_relaxed)};
}

void WallClock::ThreadMain(void* self) {
  auto& clock = *static_cast<WallClock*>(self);
  clock.open_files_ = 0;
  clock.checked_ns_ = MonotonicNowNs();
  clock.refreshed_ns_ = 0;
  clock.round_ = 0;
  clock.unsampled_ns_ = 0;
  clock.threads_.Clear();
  clock.Run();
}

void WallClock::Run() {
  uint64_t next_ns = checked_ns_;
  uint64_t work_ns = Round();
  helper_.SetReady();
  while (!HaveAllEnded()) {
    const uint64_t rested_ns = MonotonicNowNs() + work_ns * kRestPerWork;
    next_ns += config_.period_ns;
    if (next_ns < rested_ns) next_ns = rested_ns;
    if (!helper_.SleepUntil(next_ns) || !recorder_->sampling_wanted()) {
      FinalRound();
      if (config_.engine != nullptr) config_.engine->ForgetHelper();
      return;
    }
    recorder_->NoteTime(next_ns);
    work_ns = Round();
  }
  // Only the helper is left: when it ends, the program does.
  FinalRound();
  helper_.LeaveLast();
}

// Gives the CPU time that it took.
uint64_t WallClock::Round() {
  const uint64_t cpu_ns = ThreadCpuNs(gettid());
  const uint64_t now_ns = MonotonicNowNs();
  const uint32_t tasks = CountTasks();
  const bool is_due = now_ns - refreshed_ns_ >= kNsPerSecond;
  if (tasks != 0 && (tasks != threads_.used() + 1 || is_due || is_list_old_)) {
    Refresh(now_ns);
    if (config_.engine != nullptr) config_.engine->LookForThreads();
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
