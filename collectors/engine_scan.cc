// Threads that nobody told of: found, counted and reaped by looking.

#include <errno.h>
#include <time.h>

#include "collectors/optional_calls.h"
#include "collectors/sampling_engine.h"

namespace unspool::collectors {

// By their number alone, which costs one stat().
bool SamplingEngine::AreKnown(uint32_t tasks) const {
  const uint32_t own = config_.helper_tid != 0 ? 1 : 0;
  return tasks == threads_.used() + own;
}

bool SamplingEngine::MayLook() {
  return IsAllowed(OptionalCall::kFiles) && IsAllowed(OptionalCall::kThreads);
}

// For one caller each second.
bool SamplingEngine::IsScanDue(uint64_t now_s) {
  uint64_t seen_s = last_scan_s_.load(std::memory_order_relaxed);
  return now_s != seen_s && last_scan_s_.compare_exchange_strong(
                                seen_s, now_s, std::memory_order_relaxed);
}

uint32_t SamplingEngine::LookForThreads() {
  if (!is_running() || !MayLook()) return 0;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  QuietLock lock(lock_);
  if (!running_.load()) return 0;
  const uint32_t tasks = FindThreads();
  if (IsScanDue(static_cast<uint64_t>(now.tv_sec))) {
    threads_.ForEach([this](ThreadState& state) { NoteBlocked(state); });
  }
  return tasks;
}

void SamplingEngine::LookForNewThread() {
  constexpr uint32_t kFew = 64;
  if (threads_.used() > kFew) return;
  const int saved_errno = errno;
  LookForThreads();
  errno = saved_errno;
}

void SamplingEngine::ForgetHelper() {
  QuietLock lock(lock_);
  config_.helper_tid = 0;
}

// The count costs one stat(); only if it differs is the directory read. A
// thread that ended and a new one would be as many as before.
uint32_t SamplingEngine::FindThreads() {
  ReapEnded(/*all=*/false);
  const uint32_t tasks = CountTasks();
  if (!AreKnown(tasks)) Scan(CountFrom::kBirth);
  return tasks;
}

void SamplingEngine::Scan(CountFrom from) {
  ReapEnded(/*all=*/true);
  TaskList tasks;
  while (const int32_t tid = tasks.Next()) {
    if (tid == config_.helper_tid) continue;
    if (threads_.FindByTid(tid) == nullptr) Adopt(tid, from);
  }
}

// Threads that nobody told us the end of; mostly those that nobody told us of.
void SamplingEngine::ReapEnded(bool all) {
  threads_.ForEach([&](ThreadState& state) {
    if (!all && !state.is_found) return;
    const bool is_alive =
        state.source.IsArmed() || ThreadCpuNs(threads_.tid(state)) != 0;
    if (!is_alive) Retire(state);
  });
}

ThreadState* SamplingEngine::Adopt(int32_t tid, CountFrom from) {
  ThreadState* state = threads_.Acquire(tid);
  if (state == nullptr) return nullptr;
  if (tid == process_.pid()) state->stack = main_stack_;
  state->is_found = true;
  state->cpu_at_start_ns = ThreadCpuNs(tid);
  BeginTicks(*state, tid);
  if (from == CountFrom::kBirth) NoteUnseen(*state);
  return state;
}

// What a thread used before it was found. Its end may go unnoticed, so this is
// said at once; at Stop() NoteMissed knows better what it was.
void SamplingEngine::NoteUnseen(ThreadState& state) {
  if (!running_.load()) {
    state.cpu_at_start_ns = 0;
  } else if (recorder_->sampling_wanted()) {
    NoteUnsampled(state, static_cast<int64_t>(state.cpu_at_start_ns));
  }
}

// What a thread used while it blocked the signal, if nobody will tell of its
// end: glibc's own threads do that (SIGEV_THREAD, aio). Two looks in a row must
// find it blocked: others do so for a moment, to create a thread. A tick of it
// that comes just now is dropped.
void SamplingEngine::NoteBlocked(ThreadState& state) {
  if (!state.is_found || !state.had_source) return;
  const int32_t tid = threads_.tid(state);
  const uint64_t cpu_ns = ThreadCpuNs(tid);
  const int64_t rest_ns = RestNs(state, cpu_ns);
  const bool was_blocked = state.seems_blocked;
  state.seems_blocked = cpu_ns != 0 &&
                        rest_ns > static_cast<int64_t>(slack_ns_) &&
                        IsSignalBlocked(tid, state.signal);
  if (!was_blocked || !state.seems_blocked || state.busy.exchange(1) != 0) {
    return;
  }
  recorder_->RecordLoss(state, LossCause::kBlocked,
                        static_cast<uint64_t>(rest_ns));
  state.busy.store(0);
}

}  // namespace unspool::collectors
