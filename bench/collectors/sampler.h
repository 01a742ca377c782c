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
  // Of at most `max_depth` frames a stack.
  explicit Recording(uint32_t max_depth);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Before a thread with the default attributes is created; Enter and Leave are
  // first and last in that thread. Its timer is switched off after one tick.
  collectors::ThreadState* PrepareThread();
  void EnterThread(collectors::ThreadState& state);
  void LeaveThread(collectors::ThreadState& state);

  // The spool, whole; it is sparse.
  std::span<const uint8_t> bytes() const;
};

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
