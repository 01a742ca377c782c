// What the engine does inside the signal handler: one tick, its thread's event,
// and once a second a look for threads that nobody told of.
//
// The program's stack holds the kernel's signal frame and a few hundred bytes
// of ours; everything else runs on a stack of the thread's state.

#include "collectors/tick.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "collectors/arch/calls.h"
#include "collectors/cpu_timer.h"
#include "collectors/optional_calls.h"
#include "collectors/perf_event.h"
#include "collectors/period.h"
#include "collectors/sampling_engine.h"
#include "collectors/signal_action.h"

namespace unspool::collectors {
namespace {

// Sanitizers look for the bounds of the stack that code runs on, and end the
// program where it is none that they know.
void CallOnStack(void (*function)(void*), void* argument, void* stack_top) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)stack_top;
  function(argument);
#else
  unspool_call_on_stack(function, argument, stack_top);
#endif
}

// The exact clock takes a few times longer, and on machines that are slow to
// read it a system call.
uint64_t NowNs(bool is_exact) {
  return ClockNs(is_exact && IsAllowed(OptionalCall::kThreads)
                     ? CLOCK_MONOTONIC
                     : CLOCK_MONOTONIC_COARSE);
}

// 0: it may not be asked.
uint64_t OwnCpuNsIfAllowed() {
  return IsAllowed(OptionalCall::kThreads) ? OwnCpuNs() : 0;
}

}  // namespace

[[gnu::hot]] std::optional<uint32_t> TickIndex(const siginfo_t& info) {
  if (info.si_code != SI_TIMER) return PerfCookie(info);
  return ParseTickCookie(reinterpret_cast<uint64_t>(info.si_value.sival_ptr));
}

struct SamplingEngine::TickCall {
  SamplingEngine* engine;
  ThreadState* thread;
  const siginfo_t* info;
  const ucontext_t* context;
};

constinit std::atomic<SamplingEngine*> SamplingEngine::ticking_{nullptr};

[[gnu::hot]] void SamplingEngine::OnSignal(int signal, siginfo_t* info,
                                           void* context) {
  const int saved_errno = errno;
  SamplingEngine* engine = ticking_.load(std::memory_order_acquire);
  const bool is_ours =
      engine->HandleTick(*info, *static_cast<const ucontext_t*>(context));
  // Written only if it must be: a thread that clone() made without a TLS of its
  // own shares errno with its creator.
  if (errno != saved_errno) errno = saved_errno;
  if (!is_ours) ForwardSignal(signal, info, context);
}

[[gnu::hot]] bool SamplingEngine::HandleTick(const siginfo_t& info,
                                             const ucontext_t& context) {
  const std::optional<uint32_t> index = TickIndex(info);
  if (!index.has_value()) return false;
  if (info.si_code == POLL_IN && !has_used_perf_.load()) return false;
  ThreadState* thread = threads_.FindByIndex(*index);
  // A tick that comes after its source was deleted is nobody's.
  if (thread == nullptr || !thread->source.Sent(info)) return true;
  // Every signal is blocked here, so this is no tick within a tick but one of
  // another thread that had this state before.
  if (thread->busy.exchange(1) != 0) return true;  // invariant 1
  if (thread->source.Sent(info)) {
    TickCall call = {this, thread, &info, &context};
    CallOnStack(&RunTick, &call, thread->handler_stack_top());
  }
  // Who waits for it needs no more than that order; a full barrier would wait
  // for all that the tick has written, a tenth of its time.
  thread->busy.store(0, std::memory_order_release);
  return true;
}

// Also how long that took. Inlined: the deepest path of a tick leads through
// it.
[[gnu::always_inline]] inline void SamplingEngine::RecordTimed(
    const Capture& capture, uint64_t weight_ns, uint64_t now_ns) {
  TickBrake& brake = capture.thread->brake;
  if (brake.is_asking()) brake.Begin(OwnCpuNsIfAllowed());
  recorder_->Record(capture, SampleKind::kCpu, weight_ns);
  if (brake.is_asking()) brake.End(OwnCpuNsIfAllowed());
  brake.NoteElapsed(NowNs(/*is_exact=*/true) - now_ns, config_.period_ns);
}

[[gnu::hot]] void SamplingEngine::RunTick(void* argument) {
  const auto& call = *static_cast<const TickCall*>(argument);
  SamplingEngine& engine = *call.engine;
  ThreadState& thread = *call.thread;
  if (!engine.recorder_->sampling_wanted()) {
    if (!engine.lock_.Try()) return;
    thread.source.Disarm();
    engine.lock_.Unlock();
    return;
  }
  if (thread.brake.Passes(engine.PeriodsNs(*call.info))) return;
  const bool may_be_long = TickBrake::MayBeLong(thread.memo.frames().size());
  const bool is_timer = engine.config_.engine == Engine::kTimer;
  const uint64_t now_ns = NowNs(/*is_exact=*/may_be_long || !is_timer);
  const uint64_t weight_ns = engine.WeightNs(thread, *call.info, now_ns);
  const Capture capture = {
      &thread, unwind::Registers::FromUcontext(*call.context), thread.stack};
  if (may_be_long) {
    engine.RecordTimed(capture, weight_ns, now_ns);
  } else {
    engine.recorder_->Record(capture, SampleKind::kCpu, weight_ns);
  }
  engine.StartEventIfWanted(thread);
  engine.recorder_->NoteTime(now_ns);
  engine.ScanIfDue(now_ns / kNsPerSecond);
}

[[gnu::hot]] uint64_t SamplingEngine::WeightNs(ThreadState& thread,
                                               const siginfo_t& info,
                                               uint64_t now_ns) const {
  const uint64_t passed_ns = thread.brake.TakePassedNs();
  if (config_.engine == Engine::kTimer || !IsAllowed(OptionalCall::kThreads)) {
    return passed_ns + PeriodsNs(info);
  }
  if (thread.pace.IsOnePeriod(now_ns, config_.period_ns)) {
    return config_.period_ns;
  }
  return RestWeightNs(RestNs(thread, OwnCpuNs()));
}

// That ended with a tick.
uint64_t SamplingEngine::PeriodsNs(const siginfo_t& info) const {
  const bool is_timer = config_.engine == Engine::kTimer;
  return TickWeightNs(config_.period_ns, is_timer ? info.si_overrun : 0);
}

void SamplingEngine::StartEventIfWanted(ThreadState& thread) {
  if (config_.engine == Engine::kTimer || thread.source.has_event() ||
      thread.lacks_event || !IsAllowed(OptionalCall::kPerfEvent) ||
      !lock_.Try()) {
    return;
  }
  if (running_.load()) StartEvent(thread);
  lock_.Unlock();
}

[[gnu::hot]] void SamplingEngine::ScanIfDue(uint64_t now_s) {
  if (!MayLook() || !IsScanDue(now_s) || !lock_.Try()) return;
  if (running_.load()) {
    FindThreads();
    threads_.ForEach([this](ThreadState& state) { NoteBlocked(state); });
  }
  lock_.Unlock();
}

}  // namespace unspool::collectors
