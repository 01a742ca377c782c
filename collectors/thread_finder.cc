#include "collectors/thread_finder.h"

#include <unistd.h>

#include "collectors/cpu_timer.h"
#include "collectors/task_list.h"

namespace unspool::collectors {
namespace {

constexpr uint64_t kShortestNapNs = 10'000'000;
constexpr uint64_t kLongestNapNs = 100'000'000;
// Looks that take long, at thousands of threads, come less often: the finder
// takes a four-hundredth of a CPU at most.
constexpr uint64_t kRestPerWork = 399;

}  // namespace

void ThreadFinder::ThreadMain(void* self) {
  static_cast<ThreadFinder*>(self)->Run();
}

void ThreadFinder::Run() {
  helper_.SetReady();
  const int32_t self = gettid();
  uint64_t nap_ns = kShortestNapNs;
  uint32_t last_tasks = 0;
  while (helper_.SleepUntil(MonotonicNowNs() + nap_ns)) {
    const uint64_t begin_ns = ThreadCpuNs(self);
    const uint32_t tasks = engine_->LookForThreads();
    if (AreAllOthersEnded(tasks)) return helper_.LeaveLast();
    nap_ns = tasks != last_tasks ? kShortestNapNs : nap_ns * 2;
    if (nap_ns > kLongestNapNs) nap_ns = kLongestNapNs;
    const uint64_t rest_ns = (ThreadCpuNs(self) - begin_ns) * kRestPerWork;
    if (nap_ns < rest_ns) nap_ns = rest_ns;
    last_tasks = tasks;
  }
  // The main thread has ended, perhaps, and not the program: what there is now
  // is sampled, and its ticks find what comes.
  engine_->LookForThreads();
  engine_->ForgetHelper();
}

bool ThreadFinder::AreAllOthersEnded(uint32_t tasks) const {
  return tasks == 2 && helper_.may_be_last() && HasTaskEnded(getpid());
}

}  // namespace unspool::collectors
