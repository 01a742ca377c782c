// What samples the threads of a process, whichever engine was chosen: each has
// a source of ticks of its own, by its CPU time. Blocked threads get no signal:
// nothing of theirs returns EINTR.
//
// `timer`: a tick's weight is (1 + si_overrun) × period, so totals stay exact
// where the kernel delivers fewer ticks than asked for (it looks at CPU clocks
// once per CONFIG_HZ tick).
// `perf`, `trap`: a thread begins with a timer, which costs little, and gets
// its event with the first tick, so threads that hardly run never pay for one.
// A tick's weight is the thread's CPU time since the last one: ticks that the
// kernel throttled or merged are in it. Where none can have been, it is a
// period (tick_pace.h).

#ifndef UNSPOOL_COLLECTORS_SAMPLING_ENGINE_H_
#define UNSPOOL_COLLECTORS_SAMPLING_ENGINE_H_

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "collectors/engine_choice.h"
#include "collectors/optional_calls.h"
#include "collectors/process_mark.h"
#include "collectors/recorder.h"
#include "collectors/stack_bounds.h"
#include "collectors/thread_table.h"
#include "collectors/try_lock.h"

namespace unspool::collectors {

// One per process that ticks; it must never go away, because a tick may come
// late.
//
// Invariant 1: a tick sets ThreadState::busy and then asks whether the thread's
//   source sent it; who takes a thread away deletes the source, which resets
//   what that answer depends on, and then waits for busy to be 0. All four are
//   sequentially consistent, so either the tick sees that it is too late or the
//   other waits for it.
// Invariant 2: threads_, their sources and running_ change under lock_, with
//   signals blocked.
// Invariant 3: between Start() and the return of Stop() the recorder is open;
//   by invariant 1 no tick uses it before or after.
class SamplingEngine {
 public:
  struct Config {
    Engine engine = Engine::kTimer;  // as ChooseEngine() gave it
    uint64_t period_ns = 0;
    uint32_t max_depth = 0;
    int signal = 0;          // IsSampleSignal() accepts it
    int32_t helper_tid = 0;  // a thread of ours (WallClock): not sampled
  };
  enum class StartStatus : uint8_t {
    kOk,
    kNoHandler,  // sigaction() failed
    kNoMemory,
    kNoTimer,  // for the calling thread (RLIMIT_SIGPENDING)
  };
  struct Totals {
    uint64_t samples = 0;
    uint64_t losses = 0;
    // Threads that kept their timer, and why the first of them did.
    uint64_t without_event = 0;
    PerfObstacle obstacle = PerfObstacle::kNone;
  };

  constexpr SamplingEngine() = default;
  SamplingEngine(const SamplingEngine&) = delete;
  SamplingEngine& operator=(const SamplingEngine&) = delete;

  // Samples every thread that there is. Must not run. On failure nothing ticks.
  // Not async-signal-safe: takes the lock.
  [[nodiscard]] StartStatus Start(const Config& config, Recorder& recorder);

  // Ends all ticks; what threads used and nobody could sample becomes losses.
  // When it returns, no handler is at work and none will be; the handler stays
  // in place. `own_mask` is what the program blocks in the calling thread,
  // which may block more right now. Must run. Not async-signal-safe: takes the
  // lock, waits.
  void Stop(const sigset_t& own_mask);

  // For the child after fork, where nothing ticks (engine_fork.cc).
  // ForgetAfterFork makes this object ready for Start(). ContinueAfterFork
  // samples the thread that forked, as the parent did and into the same
  // recorder, which must be ready for that, but for a helper of ours; false: it
  // was not running, or there is no memory for it. Async-signal-safe (Linux):
  // plain system calls, and nobody else can hold the lock.
  void ForgetAfterFork();
  bool ContinueAfterFork(int32_t helper_tid);

  // True in the process that started it, until Stop(), and while a seccomp
  // filter leaves us what it takes to begin and end with threads: without, no
  // function below does anything, and ticks go on as they are.
  // Async-signal-safe.
  bool is_running() const {
    return running_.load(std::memory_order_relaxed) &&
           IsAllowed(OptionalCall::kThreads) && process_.IsHere();
  }

  // A thread's life as pthread_create() tells it. Prepare, by its creator,
  // keeps `start` for the new thread; nullptr if it will not be sampled: not
  // running in this process, or no memory. Then either Begin, first thing in
  // the new thread, or Abandon, if there is no new thread; the state is the
  // engine's again after it. End, last thing in a thread; any `hint` will do,
  // the state that Begin was given is found fastest. Threads that nobody tells
  // of are found by looking (LookForThreads()). Prepare and Abandon are
  // async-signal-safe; Begin and End are not: they take the lock.
  ThreadState* PrepareThread(const ThreadState::Start& start,
                             const StackRequest& stack);
  void BeginThread(ThreadState& state);
  void AbandonThread(ThreadState& state);
  void EndThread(ThreadState* hint);

  // Looks for threads that nobody told of, now: ticks do so once a second. What
  // they used before is recorded as unsampled. Gives how many threads there
  // are, ours too; 0: it does not run, or nobody knows. Not in a handler: takes
  // the lock.
  uint32_t LookForThreads();
  // The same, after a thread was made that nobody told of; where a look takes
  // long, as there are many, that is left to ticks. Keeps errno.
  void LookForNewThread();
  // Config::helper_tid is about to end, and the program goes on.
  void ForgetHelper();

  // Right before exec in the calling thread: what it used beyond its samples
  // counts, if that is more than a tick that is on its way. Async-signal-safe
  // as exec is.
  void NoteBeforeExec();

  // Around exec in the calling thread: a tick that came to the new program
  // would end it. Timers vanish by themselves; an event is closed before, and
  // made again if exec returns. No-ops where nothing runs, as in the child of a
  // vfork. Async-signal-safe as exec is: who holds the lock blocks signals.
  void PrepareExec();
  void ResumeAfterExec();

  // Since Start(). Not async-signal-safe: takes the lock.
  Totals totals();

 private:
  // Since when the missed CPU time of a thread found by looking counts.
  enum class CountFrom : uint8_t { kNow, kBirth };

  struct TickCall;

  static void OnSignal(int signal, siginfo_t* info, void* context);
  // False: not a tick of ours.
  bool HandleTick(const siginfo_t& info, const ucontext_t& context);
  static void RunTick(void* call);
  void RecordTimed(const Capture& capture, uint64_t weight_ns, uint64_t now_ns);
  uint64_t WeightNs(ThreadState& thread, const siginfo_t& info,
                    uint64_t now_ns) const;
  uint64_t PeriodsNs(const siginfo_t& info) const;
  void StartEventIfWanted(ThreadState& thread);
  static bool MayLook();
  bool IsScanDue(uint64_t now_s);
  void ScanIfDue(uint64_t now_s);

  // What the thread used by now, at `cpu_ns` of its clock, beyond its weights.
  // Below 0 where its first tick came early.
  static int64_t RestNs(const ThreadState& state, uint64_t cpu_ns) {
    return static_cast<int64_t>(
        cpu_ns - state.cpu_at_start_ns -
        state.weight_ns.load(std::memory_order_relaxed));
  }

  // All below: lock held.
  StartStatus BeginCallingThread();
  bool AreKnown(uint32_t tasks) const;
  uint32_t FindThreads();
  void Scan(CountFrom from);
  void ReapEnded(bool all);
  ThreadState* Adopt(int32_t tid, CountFrom from);
  void BeginTicks(ThreadState& state, int32_t tid);
  void StartTimer(ThreadState& state, int32_t tid);
  void StartEvent(ThreadState& state);
  void DropPendingTicks(const sigset_t& own_mask);
  void NoteUnseen(ThreadState& state);
  void NoteBlocked(ThreadState& state);
  void NoteMissed(ThreadState& state, const sigset_t& own_mask);
  void NoteUnsampled(ThreadState& state, int64_t rest_ns);
  bool IsRestDue(int64_t rest_ns) const;
  void UpdateName(ThreadState& state);  // its thread cannot record meanwhile
  bool IsSignalKept(const ThreadState& state, const sigset_t& own_mask) const;
  void Retire(ThreadState& state);

  // The one pointer that the handler starts from: the engine that ticks, or
  // did.
  static std::atomic<SamplingEngine*> ticking_;

  TryLock lock_;
  std::atomic<bool> running_{false};
  ProcessMark process_;
  Config config_;
  // By anyone in this process, ever: late ticks of events must be known.
  std::atomic<bool> has_used_perf_{false};
  uint64_t kernel_tick_ns_ = 0;
  uint64_t slack_ns_ = 0;  // how late ticks may be without being missed
  uint64_t random_ = 0;
  std::atomic<uint64_t> last_scan_s_{0};
  unwind::StackBounds main_stack_;
  Recorder* recorder_ = nullptr;
  Totals ended_;  // of threads that are retired
  // Their CPU time minus all weights; below 0 where a first tick came early.
  int64_t unsampled_ns_ = 0;
  ThreadTable threads_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SAMPLING_ENGINE_H_
