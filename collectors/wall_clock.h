// Waiting time by the wall clock: one helper thread that looks at all others.
//
// Threads that run are sampled by their CPU time, as ever; this adds the time
// that they do not run. No thread is signalled or stopped for it, so nothing of
// theirs returns EINTR or wakes up: what passed since the last look, less the
// CPU time used, was waited; where, the kernel tells (thread_wait.h).
//
// A thread whose CPU clock did not move is where it was, and is looked at half
// as often, down to every 16th period.

#ifndef UNSPOOL_COLLECTORS_WALL_CLOCK_H_
#define UNSPOOL_COLLECTORS_WALL_CLOCK_H_

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "collectors/recorder.h"
#include "collectors/spool/spool_writer.h"
#include "collectors/thread_wait.h"
#include "collectors/wall_thread.h"
#include "unwind/frame.h"
#include "unwind/walk_scratch.h"

namespace unspool::collectors {

// One per process. All but the calls below runs in the helper thread.
class WallClock {
 public:
  struct Config {
    uint64_t period_ns = 0;
    uint32_t max_depth = 0;
    sigset_t own_mask{};  // what the program blocks in the calling thread
  };
  enum class StartStatus : uint8_t { kOk, kNoMemory, kNoThread };
  struct Totals {
    uint64_t samples = 0;
    uint64_t losses = 0;
  };

  constexpr WallClock() = default;
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;

  // Starts the helper; every thread that there is counts from now on.
  // `recorder` has begun with `writer`. Must not run; all signals must be
  // blocked. Not async-signal-safe: pthread_create() allocates.
  [[nodiscard]] StartStatus Start(const Config& config, Recorder& recorder,
                                  SpoolWriter& writer);

  // Records what was waited until now and ends the helper. Does nothing if it
  // does not run. Not async-signal-safe: waits for the helper.
  void Stop();

  // For the child after fork, which has no helper: makes this object ready for
  // Start(). Async-signal-safe.
  void ForgetAfterFork();

  // A thread's life as pthread_create() tells it: its creator says Prepare and,
  // if there is no new thread, Abandon; the new thread says Begin. So the
  // helper knows when the last one ends, and is gone by then: a program whose
  // main thread ends by pthread_exit() lives as long as any thread does. Not
  // async-signal-safe: pthread_setspecific() may allocate.
  void PrepareThread() { program_threads_.fetch_add(1); }
  void AbandonThread() { program_threads_.fetch_sub(1); }
  void BeginThread();

  // The helper's thread id; 0 while there is none. Async-signal-safe.
  int32_t tid() const { return tid_.load(std::memory_order_acquire); }

  // Since Start(). Async-signal-safe.
  Totals totals() const;

 private:
  static constexpr uint32_t kMaxGap = 16;  // rounds

  static uint64_t NowNs();  // of CLOCK_MONOTONIC
  bool AllocateMemory();
  bool StartThread();
  static void OnThreadEnd(void* self);
  static void* ThreadMain(void* self);
  void Run();
  bool SleepUntil(uint64_t deadline_ns);
  uint64_t Round();
  void FinalRound();
  void Refresh(uint64_t now_ns);
  bool HaveAllEnded();

  void Begin(WallThread& thread, uint64_t since_ns);
  void Look(WallThread& thread);
  void LookAgain(WallThread& thread);
  ThreadWait ReadWait(WallThread& thread);
  void CloseWait(WallThread& thread);
  NodeId FindStack(WallThread& thread, const ThreadWait& wait);
  void End(WallThread& thread);
  void Record(WallThread& thread, NodeId stack, uint64_t weight_ns);
  void RecordUnsampled(WallThread& thread);

  Config config_;
  Recorder* recorder_ = nullptr;
  SpoolWriter* writer_ = nullptr;
  pthread_t thread_{};
  std::atomic<bool> has_thread_{false};
  pthread_key_t key_ = 0;  // its destructor tells the end of a thread
  bool has_key_ = false;
  std::atomic<uint32_t> program_threads_{0};
  std::atomic<int32_t> tid_{0};
  std::atomic<uint32_t> stop_{0};        // a futex; 1: stop
  std::atomic<int32_t> waiting_tid_{0};  // who waits for the helper: in
                                         // Start() or Stop()
  std::atomic<uint64_t> samples_{0};
  std::atomic<uint64_t> losses_{0};

  // The helper's.
  // One mapping, kept for the next Start().
  unwind::WalkScratch* scratch_ = nullptr;
  std::span<unwind::Frame> frames_;
  WallThreadTable threads_;
  bool has_own_files_ = false;  // a table of descriptors that is not shared
  uint32_t open_files_ = 0;
  uint64_t round_ = 0;
  uint64_t checked_ns_ = 0;    // when the number of threads was looked at
  uint64_t refreshed_ns_ = 0;  // when they were listed
  bool is_list_old_ = false;   // a thread is gone that was listed
  int64_t unsampled_ns_ = 0;   // of threads that ended
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_WALL_CLOCK_H_
