// Ways to walk the calling thread's stack, all with one signature.

#ifndef UNSPOOL_BENCH_UNWIND_WALKERS_H_
#define UNSPOOL_BENCH_UNWIND_WALKERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/self_unwinder.h"

namespace unspool::bench {

// Writes PCs of the calling thread's stack, leaf first, and gives their number.
// Where the walk begins (in the walker or its caller) is each walker's affair;
// from the caller's caller on all give the same return addresses.
using WalkFunction = size_t (*)(std::span<uint64_t> pcs);

struct Walker {
  const char* name;
  WalkFunction walk;
};

// Ours is the last.
inline constexpr size_t kWalkerCount = 4;
extern const std::array<Walker, kWalkerCount> kWalkers;

// Takes libgcc's _Unwind_Backtrace from its own handle and starts our unwinder;
// ends the program with a message if either fails. Once, before any walk.
void InitWalkers();

// Notes the calling thread's stack bounds for our walker. Once per thread.
void InitThread();

// What our walker uses, for who goes on from there.
unwind::SelfUnwinder& self_unwinder();
const unwind::StackBounds& thread_bounds();

// One line on stderr and status 1.
[[noreturn]] void Fail(const char* what);

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALKERS_H_
