// Holds a walk against the truth.

#ifndef UNSPOOL_TESTS_ORACLE_VERDICT_H_
#define UNSPOOL_TESTS_ORACLE_VERDICT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unwind/frame.h"

namespace unspool::oracle {

// The best first.
enum class Verdict : uint8_t {
  kRight,       // all frames, to the root
  kGuessed,     // the same, and a frame is labelled as guessed
  kTruncated,   // right as far as it goes, and labelled as not complete
  kMisguessed,  // wrong from a frame on that is labelled as guessed
  kWrong,       // a frame, or the root, that is a lie
};
inline constexpr size_t kVerdictCount = 5;

const char* NameOf(Verdict verdict);

// What an unwinder said, in the same terms for ours and for others.
struct Stack {
  std::vector<uint64_t> pcs;      // leaf first
  size_t first_guess = SIZE_MAX;  // the first frame labelled as guessed
  // Why it ends; empty: at the root, or it does not say.
  std::string end;
};

Stack ToStack(const unwind::WalkResult& result,
              std::span<const unwind::Frame> frames);

// `truth` is leaf first.
Verdict Judge(const Stack& stack, std::span<const uint64_t> truth);

// How many frames agree, from the leaf on.
size_t CountEqual(const Stack& stack, std::span<const uint64_t> truth);

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_VERDICT_H_
