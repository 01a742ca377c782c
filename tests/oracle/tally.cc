#include "tests/oracle/tally.h"

#include <algorithm>

namespace unspool::oracle {
namespace {

constexpr size_t kShown = 3;

// Both stacks, from the frame before the first that differs.
std::string Example(const Stack& stack, std::span<const uint64_t> truth,
                    Names& names) {
  const size_t equal = CountEqual(stack, truth);
  std::string text;
  const auto line = [&](const char* what, size_t i, uint64_t pc) {
    text += "      " + std::string(what) + " #" + std::to_string(i) + " " +
            names.Of(pc) + "\n";
  };
  for (size_t i = equal < kShown ? 0 : equal - kShown; i < equal; ++i) {
    line("both ", i, truth[i]);
  }
  for (size_t i = equal; i < std::min(equal + kShown, truth.size()); ++i) {
    line("truth", i, truth[i]);
  }
  for (size_t i = equal; i < std::min(equal + kShown, stack.pcs.size()); ++i) {
    line("said ", i, stack.pcs[i]);
  }
  if (!stack.end.empty()) text += "      said  end: " + stack.end + "\n";
  return text;
}

}  // namespace

void Tally::Add(const Stack& stack, std::span<const uint64_t> truth,
                Names& names) {
  const Verdict verdict = Judge(stack, truth);
  ++counts_[static_cast<size_t>(verdict)];
  if (verdict == Verdict::kRight) return;
  std::string cause = NameOf(verdict);
  if (!stack.end.empty()) cause += " " + stack.end;
  Fault& fault = faults_[cause + " in " + names.FunctionOf(truth.front())];
  if (fault.count++ < examples_) {
    fault.examples += Example(stack, truth, names);
  }
}

void Tally::Print(FILE* out) const {
  uint64_t total = 0;
  for (const uint64_t count : counts_) total += count;
  std::fprintf(out, "%-10s %9lu stacks", unwinder_.c_str(), total);
  for (size_t i = 0; i < kVerdictCount; ++i) {
    std::fprintf(out, "  %lu %s", counts_[i], NameOf(static_cast<Verdict>(i)));
  }
  std::fprintf(out, "\n");
  for (const auto& [name, fault] : faults_) {
    std::fprintf(out, "  %8lu %s\n%s", fault.count, name.c_str(),
                 fault.examples.c_str());
  }
}

}  // namespace unspool::oracle
