// Calls every chain of every unit in turn, for argv[1] seconds of CPU time.

#include <time.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "bench/exporters/inlines/chains.h"

namespace inlines {
namespace {

constexpr int kCallsBetweenLooks = 50;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

template <int... kUnit>
std::array<std::array<Function, kChains>, kUnits> AllChains(
    std::integer_sequence<int, kUnit...>) {
  return {ChainsOfUnit<kUnit>()...};
}

std::uint64_t Run(double seconds) {
  const auto units = AllChains(std::make_integer_sequence<int, kUnits>());
  std::uint64_t value = 1;
  while (CpuSeconds() < seconds) {
    for (const auto& chains : units) {
      for (Function chain : chains) {
        for (int i = 0; i < kCallsBetweenLooks; ++i) value = chain(value);
      }
    }
  }
  return value;
}

}  // namespace
}  // namespace inlines

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  std::printf("%llx\n", static_cast<unsigned long long>(inlines::Run(seconds)));
}
