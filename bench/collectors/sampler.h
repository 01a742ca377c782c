// Our whole part of a sample: the signal handler that the engine has put into
// place, called with the signal of a tick that came before.

#ifndef UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
#define UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_

#include "bench/unwind/walkers.h"
#include "collectors/thread_state.h"

namespace unspool::bench {

// Records a sample of the calling thread, which has entered a Recording; the
// number of frames that it gives is 1, the sample, and nothing is written to
// the span.
extern const Walker kSampler;

// A recording with the timer engine, in a new spool in memory: what earlier
// benchmarks recorded does not slow down later ones. One at a time, after our
// walker's init. Ends the program with a message if there is no memory.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // First and last in a thread that was created after this, with the default
  // attributes; one thread. Its timer is switched off after one tick.
  void EnterThread();
  void LeaveThread();

 private:
  collectors::ThreadState* state_ = nullptr;
};

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
