// Looks for threads that nobody tells of, where nobody stands in front of
// pthread_create(): ticks find them, too, but only while a thread that is known
// uses CPU, and one that waits for those threads does not.

#ifndef UNSPOOL_COLLECTORS_THREAD_FINDER_H_
#define UNSPOOL_COLLECTORS_THREAD_FINDER_H_

#include <signal.h>

#include <cstdint>

#include "collectors/helper_thread.h"
#include "collectors/sampling_engine.h"

namespace unspool::collectors {

// One per process. A look costs a stat() if there is nothing new. A program's
// first threads are found within 10 ms; while their number stays the same,
// looks come less and less often, down to ten a second.
class ThreadFinder {
 public:
  constexpr ThreadFinder() = default;
  ThreadFinder(const ThreadFinder&) = delete;
  ThreadFinder& operator=(const ThreadFinder&) = delete;

  // Starts a helper that looks as long as `engine` runs, which is to be started
  // after this, with tid(). As HelperThread::Start() otherwise.
  [[nodiscard]] bool Start(SamplingEngine& engine, const sigset_t& own_mask) {
    engine_ = &engine;
    return helper_.Start(&ThreadMain, this, own_mask);
  }

  // As HelperThread's.
  void Stop() { helper_.Stop(); }
  void ForgetAfterFork() { helper_.ForgetAfterFork(); }
  int32_t tid() const { return helper_.tid(); }

 private:
  static void ThreadMain(void* self);
  void Run();
  bool AreAllOthersEnded(uint32_t tasks) const;

  SamplingEngine* engine_ = nullptr;
  HelperThread helper_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_THREAD_FINDER_H_
