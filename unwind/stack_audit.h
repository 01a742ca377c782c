// The unwinder's check on itself: a stack beside what a second walk, without
// the rule cache, made of the same registers and memory.

#ifndef UNSPOOL_UNWIND_STACK_AUDIT_H_
#define UNSPOOL_UNWIND_STACK_AUDIT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/frame.h"

namespace unspool::unwind {

// What is different, and thereby why.
enum class AuditFinding : uint8_t {
  kSame = 0,
  kRule = 1,    // a rule in the cache is not what the unwind data says
  kModule = 2,  // a module came or went between the walks
  kStack = 3,   // frames, or how the walk ended, for another reason
};
inline constexpr size_t kAuditFindingCount = 4;

// Compares two walks of one stack; `wrong_rules` are those that the second one
// found in the cache (WalkCounters). Async-signal-safe.
inline AuditFinding CompareWalks(std::span<const Frame> first,
                                 WalkEnd first_end,
                                 std::span<const Frame> second,
                                 WalkEnd second_end, uint64_t wrong_rules) {
  if (wrong_rules != 0) return AuditFinding::kRule;
  const size_t both =
      first.size() < second.size() ? first.size() : second.size();
  for (size_t i = 0; i < both; ++i) {
    if (first[i].pc != second[i].pc || first[i].exact != second[i].exact ||
        first[i].guessed != second[i].guessed) {
      return AuditFinding::kStack;
    }
    if (first[i].module != second[i].module) return AuditFinding::kModule;
  }
  return first.size() == second.size() && first_end == second_end
             ? AuditFinding::kSame
             : AuditFinding::kStack;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_STACK_AUDIT_H_
