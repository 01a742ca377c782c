// What the timer engine does inside the signal handler: one tick, and once a
// second a look for threads that nobody told of. Stack use, without the walk
// and the recording below it: under 1 KiB.

#include "collectors/tick.h"

#include <errno.h>
#include <time.h>

#include "collectors/optional_calls.h"
#include "collectors/period.h"
#include "collectors/sampling_engine.h"
#include "collectors/signal_action.h"

namespace unspool::collectors {
namespace {

// The walk, the recording and what is around them stay under this (the stack
// check in tests/checks measures it); unoptimized code needs several times
// that.
#ifdef __OPTIMIZE__
constexpr uint64_t kStackNeeded = 4096;
#else
constexpr uint64_t kStackNeeded = 16384;
#endif

// How much is left of the stack that we run on; unlimited if we do not know it.
// uc_stack is the alternate stack as it was when the signal came
// (sigaction(2), getcontext(3)): all zero if there is none.
uint64_t StackLeft(const unwind::StackBounds& thread,
                   const stack_t& alternate) {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto low = reinterpret_cast<uint64_t>(alternate.ss_sp);
  if (here - low < alternate.ss_size) return here - low;
  if (here - thread.low < thread.high - thread.low) return here - thread.low;
  return UINT64_MAX;
}

}  // namespace

constinit std::atomic<SamplingEngine*> SamplingEngine::ticking_{nullptr};

void SamplingEngine::OnSignal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  SamplingEngine* engine = ticking_.load(std::memory_order_acquire);
  const bool is_ours =
      engine->HandleTick(*info, *static_cast<const ucontext_t*>(context));
  // Written only if it must be: a thread that clone() made without a TLS of its
  // own shares errno with its creator.
  if (errno != saved_errno) errno = saved_errno;
  if (!is_ours) ForwardSignal(signal, info, context);
}

bool SamplingEngine::HandleTick(const siginfo_t& info,
                                const ucontext_t& context) {
  if (info.si_code != SI_TIMER) return false;
  const std::optional<uint32_t> index =
      ParseTickCookie(reinterpret_cast<uint64_t>(info.si_value.sival_ptr));
  if (!index.has_value()) return false;
  ThreadState* thread = threads_.FindByIndex(*index);
  // A tick that comes after its timer was deleted is nobody's.
  if (thread == nullptr || thread->timer.id() != info.si_timerid) return true;
  if (thread->busy.exchange(1) != 0) {  // invariant 1
    recorder_->RecordLoss(*thread, LossCause::kReentry,
                          TickWeightNs(config_.period_ns, info.si_overrun));
    return true;
  }
  if (thread->timer.id() == info.si_timerid) {
    const uint64_t weight_ns = TickWeightNs(config_.period_ns, info.si_overrun);
    if (StackLeft(thread->stack, context.uc_stack) >= kStackNeeded) {
      Tick(*thread, weight_ns, context);
    } else {
      thread->no_stack_ns += weight_ns;
    }
  }
  thread->busy.store(0);
  return true;
}

// Not inlined: its frame is there only where there is room.
[[gnu::noinline]] void SamplingEngine::Tick(ThreadState& thread,
                                            uint64_t weight_ns,
                                            const ucontext_t& context) {
  if (!recorder_->sampling_wanted()) {
    thread.timer.Disarm();
    return;
  }
  NoteNoStack(thread);
  const Capture capture = {&thread, unwind::Registers::FromUcontext(context),
                           thread.stack};
  recorder_->Record(capture, SampleKind::kCpu, weight_ns);
  ScanIfDue();
}

// Ticks that came without room even for this, as one loss.
void SamplingEngine::NoteNoStack(ThreadState& thread) {
  if (thread.no_stack_ns == 0) return;
  recorder_->RecordLoss(thread, LossCause::kNoStack, thread.no_stack_ns);
  thread.no_stack_ns = 0;
}

void SamplingEngine::ScanIfDue() {
  if (!IsAllowed(OptionalCall::kFiles) || !IsAllowed(OptionalCall::kThreads)) {
    return;
  }
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const uint64_t now_s = static_cast<uint64_t>(now.tv_sec);
  uint64_t seen_s = last_scan_s_.load(std::memory_order_relaxed);
  if (now_s == seen_s || !last_scan_s_.compare_exchange_strong(
                             seen_s, now_s, std::memory_order_relaxed)) {
    return;
  }
  if (!lock_.Try()) return;
  // The count costs one stat(); only if it differs is the directory read.
  if (running_.load() && CountTasks() != threads_.used()) {
    Scan(CountFrom::kBirth);
  }
  lock_.Unlock();
}

}  // namespace unspool::collectors
