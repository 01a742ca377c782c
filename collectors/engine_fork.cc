// The engine in a forked child, where one thread is left and nothing ticks, and
// before exec, where a thread ends without our being told.

#include <pthread.h>

#include "collectors/cpu_timer.h"
#include "collectors/sampling_engine.h"

namespace unspool::collectors {

void SamplingEngine::ForgetAfterFork() {
  lock_.ForgetAfterFork();
  running_.store(false);
  threads_.KeepAfterFork(nullptr);
}

bool SamplingEngine::ContinueAfterFork(int32_t helper_tid) {
  lock_.ForgetAfterFork();
  QuietLock lock(lock_);
  if (!running_.load() || !recorder_->sampling_wanted()) return false;
  process_.Set();
  config_.helper_tid = helper_tid;
  ended_ = {};
  unsampled_ns_ = 0;
  // Else the children of one process would all tick at the same moment of their
  // lives.
  random_ ^= static_cast<uint64_t>(process_.pid()) * 0x9e3779b97f4a7c15u;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const bool is_on_main_stack =
      here - main_stack_.low < main_stack_.high - main_stack_.low;
  ThreadState* own = threads_.FindByStack(
      is_on_main_stack ? main_stack_.high
                       : static_cast<uint64_t>(pthread_self()));
  if (!is_on_main_stack)
    main_stack_ = own != nullptr ? own->stack : unwind::StackBounds{};
  threads_.KeepAfterFork(own);
  if (own == nullptr) {
    return Adopt(process_.pid(), CountFrom::kBirth) != nullptr;
  }
  threads_.set_tid(*own, process_.pid());
  own->stack = main_stack_;
  BeginTicks(*own, process_.pid());
  return true;
}

// Should exec fail, these are no samples that are missing.
void SamplingEngine::NoteBeforeExec() {
  if (!is_running()) return;
  QuietLock lock(lock_);
  if (!is_running() || !recorder_->sampling_wanted()) return;
  const int32_t tid = gettid();
  ThreadState* state = threads_.FindByTid(tid);
  if (state == nullptr || !state->had_source) return;
  const auto rest_ns = static_cast<int64_t>(
      ThreadCpuNs(tid) - state->cpu_at_start_ns - state->weight_ns.load());
  if (rest_ns <= static_cast<int64_t>(slack_ns_)) return;
  recorder_->RecordUnsampled(*state, static_cast<uint64_t>(rest_ns));
  state->weight_ns.fetch_add(static_cast<uint64_t>(rest_ns));
}

}  // namespace unspool::collectors
