// Our whole part of a sample, as the handler does it: registers in, a stack and
// a weight in the spool out.

#ifndef UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
#define UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_

#include "bench/unwind/walkers.h"

namespace unspool::bench {

// Records a sample of the calling thread; the "frames" that it gives is 1, the
// sample, and nothing is written to the span.
extern const Walker kSampler;

// Opens a spool in memory; ends the program with a message if that fails. Once,
// after InitWalkers().
void InitSampler();

// Begins the calling thread's log. Once per thread, after InitThread().
void InitSamplerThread();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_COLLECTORS_SAMPLER_H_
