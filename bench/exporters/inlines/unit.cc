// One unit of a program with very much debug data: kChains functions, each with
// kSteps function templates inlined into one another, each over a class
// template of its own, as much of C++ is. Built many times, with UNIT = 0, 1,
// …; main.cc calls the chains.

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "bench/exporters/inlines/chains.h"

namespace inlines {
namespace {

// Mostly declarations: they cost a compiler little, and debuggers describe all.
template <int kId>
struct Cell {
  using Self = Cell<kId>;
  using Row = std::array<Cell<kId>, 4>;

  std::uint64_t value = kId;

  Self& Add(const Self& other);
  Self& Subtract(const Self& other);
  Self& Assign(std::uint64_t new_value);
  bool IsBefore(const Self& other) const;
  bool IsBehind(const Self& other) const;
  std::pair<Self, Self> Split(const Row& row, std::uint64_t where) const;
  void Swap(Self& other) noexcept;
  Row Repeated(std::uint64_t times) const;

  [[gnu::always_inline]] std::uint64_t Mixed(std::uint64_t with) const {
    const std::uint64_t product = (value ^ with) * 0x9e3779b97f4a7c15;
    return product ^ (product >> (kId % 31 + 1));
  }
};

template <int kId, int kLeft>
[[gnu::always_inline]] inline std::uint64_t Step(std::uint64_t input) {
  typename Cell<kId>::Row row{};
  std::optional<Cell<kId>> largest;
  std::uint64_t sum = input;
  for (Cell<kId>& cell : row) {
    cell.value += sum;
    sum += cell.Mixed(input + kId);
    if (!largest || largest->value < cell.value) largest = cell;
  }
  sum += largest->value;
  if constexpr (kLeft > 1) {
    sum ^= Step<kId + 1, kLeft - 1>(sum + kId);
  }
  return sum ^ (sum >> 7);
}

template <int kChain>
[[gnu::noinline]] std::uint64_t Chain(std::uint64_t input) {
  return Step<kChain * kSteps, kSteps>(input);
}

template <int... kIndex>
constexpr std::array<Function, kChains> Chains(
    std::integer_sequence<int, kIndex...>) {
  return {Chain<UNIT * kChains + kIndex>...};
}

}  // namespace

template <>
std::array<Function, kChains> ChainsOfUnit<UNIT>() {
  return Chains(std::make_integer_sequence<int, kChains>());
}

}  // namespace inlines
