// Stacks to walk: any sequence of 5,000 functions with varied frame layouts.

#ifndef UNSPOOL_BENCH_UNWIND_CHAIN_H_
#define UNSPOOL_BENCH_UNWIND_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace unspool::bench {

inline constexpr size_t kChainFunctions = 5000;

// Functions to call, outermost first: indices below kChainFunctions.
using Chain = std::vector<uint32_t>;

// `depth` functions drawn at random by `seed`.
Chain MakeChain(size_t depth, uint64_t seed);

// Runs `body` on a thread of its own, so that little is above its stacks: the
// thread's start in libc, `body`, and what calls CallThroughChain().
void RunOnOwnThread(const std::function<void()>& body);

// Calls at_bottom(context) under the functions of `chain`. Frame pointers are
// linked from there to this call; frame_limit() is where the chain ends.
void CallThroughChain(const Chain& chain, void (*at_bottom)(void* context),
                      void* context);

// The frame address of this thread's CallThroughChain(): frame pointers below
// it are the chain's.
uint64_t frame_limit();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_CHAIN_H_
