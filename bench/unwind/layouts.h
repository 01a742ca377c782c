// The functions that chains are made of: of chain.S, and those whose layout is
// left to the compiler.

#ifndef UNSPOOL_BENCH_UNWIND_LAYOUTS_H_
#define UNSPOOL_BENCH_UNWIND_LAYOUTS_H_

#include <cstddef>
#include <span>

#include "bench/unwind/chain.h"

// chain.S.
inline constexpr size_t kMixedFunctions = 5000;
extern "C" const unspool::bench::ChainFunction unspool_bench_chain_functions[];
// An instruction of a jump stub (the procedure linkage table) behind its push,
// and what it has pushed below the return address. Gives the instruction.
extern "C" const void* unspool_bench_stub();

namespace unspool::bench {

// Calls the first function of a chain's list, as all of these do.
[[gnu::always_inline]] inline void CallNext(const void* const* list) {
  reinterpret_cast<ChainFunction>(const_cast<void*>(*list))(list + 1);
}

std::span<const ChainFunction> AllocaFunctions();
std::span<const ChainFunction> RealignedFunctions();
std::span<const ChainFunction> CxxFunctions();

// A ChainFunction that sends its thread SIGUSR1, whose handler goes on. One at
// a time in a thread.
void CallFromSignal(const void* const* list);

// Has SIGUSR1 handled so. Once.
void InitSignal();

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_LAYOUTS_H_
