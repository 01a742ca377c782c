// One look at one thread: what it waited since the last, and where.

#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/cpu_timer.h"
#include "collectors/wall_clock.h"

namespace unspool::collectors {
namespace {

// Kept open from look to look, within any program's RLIMIT_NOFILE.
constexpr uint32_t kMaxOpenFiles = 200;

// Only the helper adds; others may read.
void AddTo(std::atomic<uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
}

}  // namespace

void WallClock::Look(WallThread& thread) {
  if (thread.is_ended) return;
  const uint64_t now_ns = MonotonicNowNs();
  const uint64_t cpu_ns = ThreadCpuNs(thread.tid);
  if (cpu_ns == 0) {  // it is gone
    is_list_old_ = true;
    return;
  }
  const bool has_moved = cpu_ns != thread.cpu_ns;
  thread.owed_ns += static_cast<int64_t>(now_ns - thread.seen_ns) -
                    static_cast<int64_t>(cpu_ns - thread.cpu_ns);
  const auto period_ns = static_cast<int64_t>(config_.period_ns);
  if (thread.owed_ns < -period_ns) thread.owed_ns = -period_ns;
  thread.seen_ns = now_ns;
  thread.cpu_ns = cpu_ns;
  if (has_moved || thread.stack == 0) {
    LookAgain(thread);
    thread.gap = 1;
  } else {
    if (thread.owed_ns > 0) {
      Record(thread, thread.stack, static_cast<uint64_t>(thread.owed_ns));
      thread.owed_ns = 0;
    }
    thread.gap = thread.gap < kMaxGap ? thread.gap * 2 : kMaxGap;
  }
  thread.next_round = round_ + thread.gap;
}

// The thread ran, so its stack is another one.
void WallClock::LookAgain(WallThread& thread) {
  const uint64_t run_delay_ns = ReadRunDelayNs(thread.tid);
  const uint64_t delayed_ns = run_delay_ns > thread.run_delay_ns
                                  ? run_delay_ns - thread.run_delay_ns
                                  : 0;  // not to be read
  const ThreadWait wait = ReadWait(thread);
  thread.is_ended = wait.state == ThreadWait::State::kEnded;
  const NodeId before = thread.stack;
  thread.stack = FindStack(thread, wait);
  const WaitShares shares =
      ShareWait(thread.owed_ns, delayed_ns, before != 0, thread.stack != 0);
  thread.run_delay_ns += delayed_ns;
  thread.owed_ns = shares.owed_ns;
  if (shares.runnable_ns != 0) {
    Record(thread, kRunnableNode, shares.runnable_ns);
  }
  if (shares.before_ns != 0) Record(thread, before, shares.before_ns);
  if (shares.after_ns != 0) Record(thread, thread.stack, shares.after_ns);
}

ThreadWait WallClock::ReadWait(WallThread& thread) {
  if (thread.wait_fd < 0) {
    thread.wait_fd = OpenThreadWait(thread.tid);
    if (thread.wait_fd >= 0) ++open_files_;
  }
  const ThreadWait wait = ReadThreadWait(thread.wait_fd);
  if (!helper_.has_own_files() || open_files_ > kMaxOpenFiles)
    CloseWait(thread);
  return wait;
}

void WallClock::CloseWait(WallThread& thread) {
  if (thread.wait_fd < 0) return;
  syscall(SYS_close, thread.wait_fd);
  thread.wait_fd = -1;
  --open_files_;
}

// 0: it does not wait, or went on while its stack was walked, or waits for the
// helper. What was read of the stack of a thread that did not run in between is
// right.
NodeId WallClock::FindStack(WallThread& thread, const ThreadWait& wait) {
  if (wait.state != ThreadWait::State::kWaiting ||
      helper_.IsAwaitedBy(thread.tid)) {
    return 0;
  }
  const NodeId stack =
      recorder_->AddStack(wait.registers, unwind::StackBounds{}, *scratch_,
                          frames_.first(config_.max_depth));
  const ThreadWait after = ReadWait(thread);
  const bool is_same = after.state == wait.state &&
                       after.registers.pc() == wait.registers.pc() &&
                       after.registers.sp() == wait.registers.sp() &&
                       ThreadCpuNs(thread.tid) == thread.cpu_ns;
  return is_same ? stack : 0;
}

// A thread that is gone waited, as far as is known, where it was seen last,
// until the round before.
void WallClock::End(WallThread& thread) {
  if (checked_ns_ > thread.seen_ns && !thread.is_ended) {
    thread.owed_ns += static_cast<int64_t>(checked_ns_ - thread.seen_ns);
  }
  if (thread.owed_ns > 0 && thread.stack != 0) {
    Record(thread, thread.stack, static_cast<uint64_t>(thread.owed_ns));
  } else {
    RecordUnsampled(thread);
  }
  CloseWait(thread);
  threads_.Release(thread);
}

void WallClock::Record(WallThread& thread, NodeId stack, uint64_t weight_ns) {
  // As in Recorder::Record: a thread is often named a moment after it began.
  if ((thread.samples & (thread.samples + 1)) == 0) {
    TaskName name{};
    if (ReadTaskName(thread.tid, name) && name != thread.name) {
      thread.name = name;
      writer_->SetThreadName(thread.log, name.data());
    }
  }
  if (writer_->AddSample(thread.log, SampleKind::kOffCpu, stack, weight_ns)) {
    ++thread.samples;
    AddTo(samples_);
  } else {
    writer_->AddLoss(thread.log, LossCause::kFull, weight_ns);
    AddTo(losses_);
  }
}

// Time of which nobody saw where it was waited; carried from thread to thread
// and recorded by whole periods, as CPU time is (SamplingEngine).
void WallClock::RecordUnsampled(WallThread& thread) {
  unsampled_ns_ += thread.owed_ns;
  if (unsampled_ns_ < static_cast<int64_t>(config_.period_ns)) return;
  writer_->AddUnsampled(thread.log, static_cast<uint64_t>(unsampled_ns_));
  unsampled_ns_ = 0;
}

}  // namespace unspool::collectors
