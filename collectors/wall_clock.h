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

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "collectors/helper_thread.h"
#include "collectors/recorder.h"
#include "collectors/sampling_engine.h"
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
    SamplingEngine* engine =
        nullptr;  // looks for threads when there are others
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
  void Stop() { helper_.Stop(); }

  // For the child after fork, which has no helper: makes this object ready for
  // Start(). Async-signal-safe.
  void ForgetAfterFork();

  HelperThread& helper() { return helper_; }
  // The helper's thread id; 0 while there is none. Async-signal-safe.
  int32_t tid() const { return helper_.tid(); }

  // Since Start(). Async-signal-safe.
  Totals totals() const;

 private:
  static constexpr uint32_t kMaxGap = 16;  // rounds

  bool AllocateMemory();
  static void ThreadMain(void* self);
  void Run();
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
  HelperThread helper_;
  std::atomic<uint64_t> samples_{0};
  std::atomic<uint64_t> losses_{0};

  // The helper's.
  // One mapping, kept for the next Start().
  unwind::WalkScratch* scratch_ = nullptr;
  std::span<unwind::Frame> frames_;
  WallThreadTable threads_;
  uint32_t open_files_ = 0;
  uint64_t round_ = 0;
  uint64_t checked_ns_ = 0;    // when the number of threads was looked at
  uint64_t refreshed_ns_ = 0;  // when they were listed
  bool is_list_old_ = false;   // a thread is gone that was listed
  int64_t unsampled_ns_ = 0;   // of threads that ended
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_WALL_CLOCK_H_
