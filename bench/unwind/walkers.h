// Ways to walk the calling thread's stack, all with one signature.

#ifndef UNSPOOL_BENCH_UNWIND_WALKERS_H_
#define UNSPOOL_BENCH_UNWIND_WALKERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::bench {

// Writes PCs of the calling thread's stack, leaf first, and gives their number.
// Where the walk begins (in the walker or its caller) is each walker's affair;
// from the caller's caller on all give the same return addresses.
using WalkFunction = size_t (*)(std::span<uint64_t> pcs);

struct Walker {
  const char* name;
  WalkFunction walk;
  // Sees the frames above CallThroughChain() too: needs no frame pointers.
  bool reaches_the_root;
};

// Ours is the last.
inline constexpr size_t kWalkerCount = 4;
extern const std::array<Walker, kWalkerCount> kWalkers;

// Takes libgcc's _Unwind_Backtrace from its own handle and starts our unwinder;
// ends the program with a message if either fails. Once, before any walk.
void InitWalkers();

// Notes the calling thread's stack bounds for our walker. Once per thread.
void InitThread();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALKERS_H_
