// What is timed is right: all walkers beside libgcc's.

#ifndef UNSPOOL_BENCH_UNWIND_WALK_CHECK_H_
#define UNSPOOL_BENCH_UNWIND_WALK_CHECK_H_

#include "bench/unwind/chain.h"
#include "bench/unwind/interruption.h"
#include "bench/unwind/walkers.h"

namespace unspool::bench {

// True if `walker` gives the return addresses that libgcc's gives, on stacks of
// this kind of every depth up to `max_depth`; ours must to the root, peers for
// the chain's frames (by frame pointer: but for the function that a signal
// interrupted). After InitThread(); uses a thread of its own stack only.
bool IsRight(const Walker& walker, Layout layout, Point point,
             size_t max_depth);

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALK_CHECK_H_
