// The walk benchmarks, for main() to register.

#ifndef UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_
#define UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_

namespace unspool::bench {

// Each begins with a check that the walker gives on such stacks what libgcc's
// gives: a difference of ours ends the program with status 1 and a line, a peer
// that differs is not timed and says so in the results.
void RegisterWalks();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALK_BENCH_H_
