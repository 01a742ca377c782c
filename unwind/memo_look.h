// A walk's looks into the thread's last stack (stack_memo.h): when, and what
// follows from them.

#ifndef UNSPOOL_UNWIND_MEMO_LOOK_H_
#define UNSPOOL_UNWIND_MEMO_LOOK_H_

#include <cstddef>
#include <cstdint>

#include "unwind/cfi_answer.h"
#include "unwind/frame.h"
#include "unwind/plain_step.h"
#include "unwind/stack_memo.h"

namespace unspool::unwind {

// Of one walk. All members are async-signal-safe if Memory's and Cfi's are.
template <class Arch>
class MemoLook {
 public:
  // Without `memo` it is never due.
  explicit MemoLook(StackMemo<Arch>* memo)
      : memo_(memo), due_(memo != nullptr ? 0 : kNever) {}

  // The next look is to be when there are so many frames. The more there are,
  // the less a few more cost, and the less often it is worth it.
  size_t due() const { return due_; }

  // Is what follows `*at` as in the last stack, up to its end? If only up to
  // where there is room (of `size` frames), goes to the last of these, which
  // are written.
  template <MemoryReader Memory, class Cfi>
  [[gnu::always_inline]] bool EndsAsBefore(Memory& memory, Cfi& cfi,
                                           size_t size, Position* at,
                                           WalkResult* result) {
    due_ = result->depth == 0 ? 1 : 2 * result->depth;
    same_ = memo_->FindSame(*at, memory, cfi);
    if (same_ == 0) return false;
    const size_t room = size - result->depth;
    kept_ = same_ < room ? same_ : room;
    if (!memo_->is_cut() && kept_ == same_) return true;
    if (kept_ == room && IsCutBehind(memory, cfi, result)) return true;
    *at = GoOn(result);
    return false;
  }

  // Outer frames that the walk found in the last stack, and how many of them
  // there is room for.
  size_t same() const { return same_; }
  size_t kept() const { return kept_; }

 private:
  static constexpr size_t kNever = ~size_t{0};

  // There is no room behind the frames that are kept: does the last of them
  // have a caller, as far as a plain step tells?
  template <MemoryReader Memory, class Cfi>
  [[gnu::noinline]] bool IsCutBehind(Memory& memory, Cfi& cfi,
                                     WalkResult* result) {
    Position last = memo_->LastOf(same_, kept_);
    const uint64_t pc = last.pc;
    const KnownRule<Arch> known = cfi.FindKnown(LookupPc(pc, last.exact));
    Frame frame;
    if (!StepPlain(known.rule, memory, &last, &frame)) return false;
    result->end = WalkEnd::kDepth;
    result->failed_pc = pc;
    return true;
  }

  [[gnu::noinline]] Position GoOn(WalkResult* result) {
    const Position at = memo_->LastOf(same_, kept_);
    memo_->Keep(result->depth, same_, kept_ - 1);
    result->depth += static_cast<uint32_t>(kept_ - 1);
    same_ = 0;
    kept_ = 0;
    due_ = kNever;
    return at;
  }

  StackMemo<Arch>* memo_;
  size_t due_;
  size_t same_ = 0;
  size_t kept_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MEMO_LOOK_H_
