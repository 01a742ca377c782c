// Counts verdicts, by unwinder, cause and function.

#ifndef UNSPOOL_TESTS_ORACLE_TALLY_H_
#define UNSPOOL_TESTS_ORACLE_TALLY_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "tests/oracle/names.h"
#include "tests/oracle/verdict.h"

namespace unspool::oracle {

class Tally {
 public:
  // `examples`: how many stacks that are not right are printed for a function.
  Tally(std::string unwinder, uint64_t examples)
      : unwinder_(std::move(unwinder)), examples_(examples) {}

  void Add(const Stack& stack, std::span<const uint64_t> truth, Names& names);

  uint64_t count(Verdict verdict) const {
    return counts_[static_cast<size_t>(verdict)];
  }

  // A line with all counts, and one for each cause and function.
  void Print(FILE* out) const;

 private:
  struct Fault {
    uint64_t count = 0;
    std::string examples;
  };

  std::string unwinder_;
  uint64_t examples_;
  std::array<uint64_t, kVerdictCount> counts_{};
  std::map<std::string, Fault> faults_;  // by cause and function
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_TALLY_H_
