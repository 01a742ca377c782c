#include "tests/oracle/verdict.h"

#include <algorithm>

namespace unspool::oracle {
namespace {

// As in "[truncated: …]".
constexpr const char* kEnds[unwind::kWalkEndCount] = {
    "", "depth", "no-cfi", "bad-memory", "loop", "bad-cfi", "no-register"};

}  // namespace

const char* NameOf(Verdict verdict) {
  constexpr const char* kNames[kVerdictCount] = {
      "right", "guessed", "truncated", "misguessed", "wrong"};
  return kNames[static_cast<size_t>(verdict)];
}

Stack ToStack(const unwind::WalkResult& result,
              std::span<const unwind::Frame> frames) {
  Stack stack;
  stack.end = kEnds[static_cast<size_t>(result.end)];
  for (size_t i = 0; i < result.depth; ++i) {
    stack.pcs.push_back(frames[i].pc);
    if (frames[i].guessed) stack.first_guess = std::min(stack.first_guess, i);
  }
  return stack;
}

size_t CountEqual(const Stack& stack, std::span<const uint64_t> truth) {
  return static_cast<size_t>(std::ranges::mismatch(stack.pcs, truth).in1 -
                             stack.pcs.begin());
}

Verdict Judge(const Stack& stack, std::span<const uint64_t> truth) {
  const size_t equal = CountEqual(stack, truth);
  const bool is_guess = stack.first_guess < stack.pcs.size();
  if (equal < stack.pcs.size()) {
    return stack.first_guess <= equal ? Verdict::kMisguessed : Verdict::kWrong;
  }
  if (!stack.end.empty()) return Verdict::kTruncated;
  if (equal < truth.size()) {
    return is_guess ? Verdict::kMisguessed : Verdict::kWrong;
  }
  return is_guess ? Verdict::kGuessed : Verdict::kRight;
}

}  // namespace unspool::oracle
