// Stacks to walk: any sequence of functions with known frame layouts.

#ifndef UNSPOOL_BENCH_UNWIND_CHAIN_H_
#define UNSPOOL_BENCH_UNWIND_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace unspool::bench {

// A function that calls the first one of the list with the rest of it.
using ChainFunction = void (*)(const void* const* list);

// Functions to call, outermost first.
using Chain = std::vector<ChainFunction>;

// How the frames of a chain are laid out. All link the frame pointer.
enum class Layout : uint8_t {
  kMixed,      // any of 5,000: 0 to 4 saved registers, CFA by rsp or by rbp
  kRsp,        // of these, those whose CFA is rsp + offset
  kRbp,        // those whose CFA is rbp + 16
  kAlloca,     // a frame whose size is known when it runs
  kRealigned,  // to 64 bytes, by GCC: the CFA is in memory
  kCxx,        // C++ with a destructor and a handler, so with an LSDA
  kSignal,     // kMixed with a signal's frame halfway
};

// `depth` functions drawn at random by `seed`.
Chain MakeChain(Layout layout, size_t depth, uint64_t seed);

// All that kMixed is drawn from, in random order by `seed`.
Chain AllFunctions(uint64_t seed);

// Runs `body` on a thread of its own, so that little is above its stacks: the
// thread's start in libc, `body`, and what calls CallThroughChain().
void RunOnOwnThread(const std::function<void()>& body);

// Calls `at_bottom` under the functions of `chain`, with `shift` times 16 bytes
// left free above them; there chain_context() is `context`. `at_bottom` may do
// the same again. Frame pointers are linked from there to frame_limit().
void CallThroughChain(const Chain& chain, ChainFunction at_bottom,
                      void* context, size_t shift = 0);

void* chain_context();

// The frame address of this thread's outermost CallThroughChain(): frame
// pointers below it are the chain's.
uint64_t frame_limit();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_CHAIN_H_
