// Our whole part of a sample, as the handler does it: registers in, a stack and
// a weight in the spool out.

#ifndef UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
#define UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_

#include "bench/unwind/walkers.h"

namespace unspool::bench {

// Records a sample of the calling thread; the "frames" that it gives is 1, the
// sample, and nothing is written to the span.
extern const Walker kSampler;

// A recording of its own for the calling thread, in a new spool in memory: what
// earlier benchmarks recorded does not slow down later ones. One at a time,
// after InitWalkers() and InitThread(). Ends the program with a message if
// there is no memory.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
