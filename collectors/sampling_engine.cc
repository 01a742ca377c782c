// Start, stop, and the threads in between; tick.cc is what runs in the handler.

#include "collectors/sampling_engine.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>

#include "collectors/period.h"
#include "collectors/signal_action.h"
#include "collectors/tick.h"

namespace unspool::collectors {
namespace {

uint64_t RandomSeed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed)) {
    return seed;
  }
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) << 32 ^
         static_cast<uint64_t>(now.tv_sec) ^ static_cast<uint64_t>(getpid());
}

// Returns once the state's thread is not in our handler. Sleeps, because the
// thread may have a lower real-time priority than ours.
void WaitForHandler(const ThreadState& state) {
  while (state.busy.load() != 0) {
    const timespec nap = {0, 50'000};
    syscall(SYS_nanosleep, &nap, nullptr);
  }
}

bool HasRecord(const ThreadState& state) {
  return state.log.record.load(std::memory_order_acquire) != nullptr;
}

}  // namespace

SamplingEngine::StartStatus SamplingEngine::Start(const Config& config,
                                                  Recorder& recorder) {
  QuietLock lock(lock_);
  config_ = config;
  recorder_ = &recorder;
  process_.Set();
  kernel_tick_ns_ = KernelTickNs();
  slack_ns_ = config.period_ns + 2 * kernel_tick_ns_;
  random_ = RandomSeed();
  main_stack_ = MainThreadStack();
  ended_ = {};
  unsampled_ns_ = 0;
  ticking_.store(this);
  if (!InstallHandler(config.signal, &OnSignal) ||
      (config.engine == Engine::kTrap && !InstallHandler(SIGTRAP, &OnSignal))) {
    return StartStatus::kNoHandler;
  }
  if (config.engine == Engine::kPerf) has_used_perf_.store(true);
  running_.store(true);
  const StartStatus status = BeginCallingThread();
  if (status != StartStatus::kOk) {
    running_.store(false);
    return status;
  }
  // Nobody else can make a thread. The second look is for threads that the
  // first one came too early for and whose creators called pthread_create()
  // before we ran.
  if (AreKnown(CountTasks())) return StartStatus::kOk;
  Scan(CountFrom::kNow);
  Scan(CountFrom::kNow);
  return StartStatus::kOk;
}

SamplingEngine::StartStatus SamplingEngine::BeginCallingThread() {
  ThreadState* state = Adopt(gettid(), CountFrom::kNow);
  if (state == nullptr) return StartStatus::kNoMemory;
  if (state->had_source || !recorder_->sampling_wanted()) {
    return StartStatus::kOk;
  }
  Retire(*state);
  return StartStatus::kNoTimer;
}

void SamplingEngine::Stop(const sigset_t& own_mask) {
  QuietLock lock(lock_);
  running_.store(false);
  // All sources first: what comes now is not the program's time any more.
  threads_.ForEach([](ThreadState& state) { state.source.Disarm(); });
  // What nobody told of and no tick found is taken in, to be counted.
  FindThreads();
  threads_.ForEach([&](ThreadState& state) {
    state.source.Delete();
    WaitForHandler(state);
    NoteMissed(state, own_mask);
    Retire(state);
  });
}

ThreadState* SamplingEngine::PrepareThread(const ThreadState::Start& start,
                                           const StackRequest& stack) {
  if (!running_.load() || !IsAllowed(OptionalCall::kThreads) ||
      !process_.IsMemoryHere()) {
    return nullptr;
  }
  ThreadState* state = threads_.Acquire(ThreadTable::kStarting);
  if (state == nullptr) return nullptr;
  state->start = start;
  state->stack_request = stack;
  return state;
}

void SamplingEngine::BeginThread(ThreadState& state) {
  if (!IsAllowed(OptionalCall::kThreads)) return;
  QuietLock lock(lock_);
  if (!running_.load()) {
    threads_.Release(state);
    return;
  }
  const int32_t tid = gettid();
  // A scan was faster, or the number is that of a thread that ended unnoticed.
  ThreadState* other = threads_.FindByTid(tid);
  if (other != nullptr) Retire(*other);
  threads_.set_tid(state, tid);
  state.self.store(pthread_self(), std::memory_order_relaxed);
  state.stack = NewThreadStack(state.stack_request);
  BeginTicks(state, tid);
}

void SamplingEngine::AbandonThread(ThreadState& state) {
  threads_.Release(state);
}

void SamplingEngine::EndThread(ThreadState* hint) {
  if (!running_.load(std::memory_order_relaxed) ||
      !IsAllowed(OptionalCall::kThreads) || !process_.IsMemoryHere()) {
    return;
  }
  QuietLock lock(lock_);
  if (!running_.load()) return;
  const bool is_own =
      threads_.tid(*hint) > 0 &&
      hint->self.load(std::memory_order_relaxed) == pthread_self();
  ThreadState* state = is_own ? hint : threads_.FindByTid(gettid());
  if (state == nullptr) return;
  NoteMissed(*state, lock.previous_mask());
  Retire(*state);
}

SamplingEngine::Totals SamplingEngine::totals() {
  QuietLock lock(lock_);
  Totals totals = ended_;
  threads_.ForEach([&](const ThreadState& state) {
    totals.samples += state.samples.load(std::memory_order_relaxed);
    totals.losses += state.losses.load(std::memory_order_relaxed);
  });
  return totals;
}

// Without memory or a timer the thread is kept all the same: NoteMissed counts
// what it used.
void SamplingEngine::BeginTicks(ThreadState& state, int32_t tid) {
  recorder_->AddThread(state, tid);
  if (!state.Reserve(config_.max_depth)) return;
  if (!running_.load() || !recorder_->sampling_wanted()) return;
  StartTimer(state, tid);
}

void SamplingEngine::StartTimer(ThreadState& state, int32_t tid) {
  state.signal = config_.signal;
  state.had_source = state.source.StartTimer(
      tid, config_.signal, state.index,
      FirstPeriodNs(config_.period_ns, NextRandom(random_), kernel_tick_ns_),
      config_.period_ns);
}

// In the thread itself. Where there is no event to be had the timer stays.
void SamplingEngine::StartEvent(ThreadState& state) {
  PerfEvent::Request request;
  const bool is_trap = config_.engine == Engine::kTrap;
  request.delivery =
      is_trap ? PerfEvent::Delivery::kTrap : PerfEvent::Delivery::kSignal;
  request.tid = threads_.tid(state);
  request.signal = config_.signal;
  request.cookie = state.index;
  request.period_ns = config_.period_ns;
  const PerfObstacle obstacle = state.source.StartEvent(request);
  if (obstacle == PerfObstacle::kNone) {
    if (is_trap) state.signal = SIGTRAP;
    return;
  }
  state.lacks_event = true;
  if (ended_.without_event++ == 0) ended_.obstacle = obstacle;
}

void SamplingEngine::PrepareExec() {
  if (!is_running() || config_.engine == Engine::kTimer) return;
  QuietLock lock(lock_);
  ThreadState* state = threads_.FindByTid(gettid());
  if (state == nullptr) return;
  state->source.Delete();
  DropPendingTicks(lock.previous_mask());
}

void SamplingEngine::ResumeAfterExec() {
  if (!is_running() || config_.engine == Engine::kTimer) return;
  QuietLock lock(lock_);
  ThreadState* state = threads_.FindByTid(gettid());
  if (state != nullptr && state->had_source && running_.load()) {
    StartTimer(*state, gettid());
  }
}

// Pending signals outlive exec, so those that the program blocks would meet the
// new program's default action; others come to our handler before. What is not
// ours is sent again.
void SamplingEngine::DropPendingTicks(const sigset_t& own_mask) {
  if (!IsAllowed(OptionalCall::kPerfEvent)) return;
  constexpr timespec kNow = {0, 0};
  for (const int signal : {config_.signal, SIGTRAP}) {
    if (sigismember(&own_mask, signal) != 1) continue;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    siginfo_t info;
    if (syscall(SYS_rt_sigtimedwait, &one, &info, &kNow, sizeof(uint64_t)) >
            0 &&
        !TickIndex(info).has_value()) {
      syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal, &info);
    }
  }
}

// What a thread used beyond its samples' weights. If it could not be sampled,
// because the kernel gave no timer or the program kept the signal from us, that
// is a loss; otherwise what came after its last tick. Its name is read first,
// if something is recorded under it: most of many short threads have nothing.
void SamplingEngine::NoteMissed(ThreadState& state, const sigset_t& own_mask) {
  const int32_t tid = threads_.tid(state);
  const bool is_named = HasRecord(state) || tid == process_.pid();
  if (is_named) UpdateName(state);
  if (!recorder_->sampling_wanted()) return;
  const uint64_t cpu_ns = ThreadCpuNs(tid);
  if (cpu_ns == 0) return;  // it is gone, or never was
  const int64_t rest_ns = RestNs(state, cpu_ns);
  const bool is_late = rest_ns > static_cast<int64_t>(slack_ns_);
  if (!is_named && (is_late || IsRestDue(rest_ns))) UpdateName(state);
  if (is_late && !state.had_source) {
    recorder_->RecordLoss(state, LossCause::kNoTimer, rest_ns);
  } else if (is_late && IsSignalKept(state, own_mask)) {
    recorder_->RecordLoss(state, LossCause::kBlocked, rest_ns);
  } else {
    NoteUnsampled(state, rest_ns);
  }
}

// Rests are 0 on average but for what the kernel does not see: it looks at CPU
// clocks once per tick of its own, so a thread's last periods may go unnoticed.
// They are carried from thread to thread, and recorded by whole periods: so the
// sum of all weights stays within one of the CPU time, and threads that come
// and go in thousands do not each take a page of the spool.
void SamplingEngine::NoteUnsampled(ThreadState& state, int64_t rest_ns) {
  const bool is_due = IsRestDue(rest_ns);
  unsampled_ns_ += rest_ns;
  if (!is_due) return;
  recorder_->RecordUnsampled(state, static_cast<uint64_t>(unsampled_ns_));
  unsampled_ns_ = 0;
}

bool SamplingEngine::IsRestDue(int64_t rest_ns) const {
  return unsampled_ns_ + rest_ns >= static_cast<int64_t>(config_.period_ns);
}

void SamplingEngine::UpdateName(ThreadState& state) {
  const int32_t tid = threads_.tid(state);
  TaskName name{};
  if (tid == gettid() ? ReadOwnTaskName(name) : ReadTaskName(tid, name)) {
    recorder_->UpdateName(state, name);
  }
}

bool SamplingEngine::IsSignalKept(const ThreadState& state,
                                  const sigset_t& own_mask) const {
  if (!IsHandlerInstalled(state.signal, &OnSignal)) return true;
  const int32_t tid = threads_.tid(state);
  return tid == gettid() ? sigismember(&own_mask, state.signal) == 1
                         : IsSignalBlocked(tid, state.signal);
}

void SamplingEngine::Retire(ThreadState& state) {
  state.source.Delete();
  WaitForHandler(state);
  ended_.samples += state.samples.load(std::memory_order_relaxed);
  ended_.losses += state.losses.load(std::memory_order_relaxed);
  threads_.Release(state);
}

}  // namespace unspool::collectors
