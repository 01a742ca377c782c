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

uint64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

std::optional<uint32_t> TickIndex(const siginfo_t& info) {
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

void SamplingEngine::RunTick(void* argument) {
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
  const bool is_timed = TickBrake::MayBeLong(thread.memo.frames().size()) &&
                        IsAllowed(OptionalCall::kThreads);
  const uint64_t begin_ns = is_timed ? OwnCpuNs() : 0;
  const Capture capture = {
      &thread, unwind::Registers::FromUcontext(*call.context), thread.stack};
  engine.recorder_->Record(capture, SampleKind::kCpu,
                           engine.WeightNs(thread, *call.info));
  if (is_timed) thread.brake.Note(OwnCpuNs() - begin_ns);
  engine.StartEventIfWanted(thread);
  const uint64_t now_ns = NowNs(CLOCK_MONOTONIC_COARSE);
  engine.recorder_->NoteTime(now_ns);
  engine.ScanIfDue(now_ns / kNsPerSecond);
}

uint64_t SamplingEngine::WeightNs(ThreadState& thread,
                                  const siginfo_t& info) const {
  const uint64_t passed_ns = thread.brake.TakePassedNs();
  if (config_.engine == Engine::kTimer || !IsAllowed(OptionalCall::kThreads)) {
    return passed_ns + PeriodsNs(info);
  }
  if (thread.pace.IsOnePeriod(NowNs(CLOCK_MONOTONIC), config_.period_ns)) {
    return config_.period_ns;
  }
  const int64_t rest_ns = RestNs(thread, OwnCpuNs());
  return rest_ns < 0 ? 0 : static_cast<uint64_t>(rest_ns);
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

void SamplingEngine::ScanIfDue(uint64_t now_s) {
  if (!MayLook() || !IsScanDue(now_s) || !lock_.Try()) return;
  if (running_.load()) {
    FindThreads();
    threads_.ForEach([this](ThreadState& state) { NoteBlocked(state); });
  }
  lock_.Unlock();
}

}  // namespace unspool::collectors
