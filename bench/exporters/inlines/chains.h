// What main.cc and the units of a program full of inlined templates share.

#ifndef UNSPOOL_BENCH_EXPORTERS_INLINES_CHAINS_H_
#define UNSPOOL_BENCH_EXPORTERS_INLINES_CHAINS_H_

#include <array>
#include <cstdint>

namespace inlines {

inline constexpr int kUnits = 20;
inline constexpr int kChains = 100;  // functions per unit
inline constexpr int kSteps = 10;    // templates inlined into each

using Function = std::uint64_t (*)(std::uint64_t);

// Defined by unit.cc built with that UNIT.
template <int kUnit>
std::array<Function, kChains> ChainsOfUnit();

}  // namespace inlines

#endif  // UNSPOOL_BENCH_EXPORTERS_INLINES_CHAINS_H_
