// The walk benchmarks, for main() to check and register.

#ifndef UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_
#define UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_

namespace unspool::bench {

// Compares what all walkers give on stacks of every depth; a difference ends
// the program with status 1 and a line that says which.
void CheckWalks();

void RegisterWalks();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_
