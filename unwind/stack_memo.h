// The stack of a thread's last walk: of the next one, outer frames are mostly
// the same, and are then checked instead of walked.
//
// Why that is right: a rule depends on the PC alone (in a module that is still
// there). So where a frame has the PC and SP of one of the last walk, and every
// word that the rules from there on read is what it was, the same frames
// follow. Those words are the return addresses, and saved frame pointers as far
// as an outer rule's CFA is relative to FP; elsewhere rbp is data that changes
// all the time. The loads do not depend on each other, where those of a walk
// do: of frame pointers too.
//
// Frames whose step has other inputs are not plain (expressions, signal frames,
// guesses, code without CFI): only what lies outside of the outermost of them
// is used again, up to the root, or to where a deep stack was cut; and nothing
// of a stack that ended in another way.

#ifndef UNSPOOL_UNWIND_STACK_MEMO_H_
#define UNSPOOL_UNWIND_STACK_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/frame.h"
#include "unwind/plain_step.h"

namespace unspool::unwind {

// Two stacks lie in the storage: the last one, and beside it that of the walk
// at hand. One walk at a time. All members are async-signal-safe.
template <class Arch>
class StackMemo {
 public:
  // How many frames of storage stacks of `depth` frames need.
  static constexpr size_t StorageFor(size_t depth) {
    return 2 * (depth + depth / 4 + 1);
  }

  // Without storage: walks have no room for a frame.
  constexpr StackMemo() = default;
  // `storage` is StorageFor(depth) frames.
  StackMemo(std::span<Frame> storage, size_t depth)
      : storage_(storage), depth_(depth) {}

  // The stack of the last walk, leaf first.
  std::span<const Frame> frames() const {
    return storage_.subspan(begin_, count_);
  }
  // The next walk finds nothing to use again.
  void Forget() { plain_ = end(); }

  // The rest is for Walker. Room for a walk's frames.
  std::span<Frame> Begin() {
    checked_ = end() - 1;
    SetCursor(plain_);
    return storage_.subspan(fresh(), depth_);
  }
  // The last stack was cut after its last frame.
  bool is_cut() const { return is_cut_; }

  // How many frames of the last stack, from that at `at` on, are the same now;
  // 0: walk on.
  template <class Memory, class Cfi>
  size_t FindSame(Position at, Memory& memory, Cfi& cfi) {
    if (next_sp_ < at.sp) SkipBelow(at.sp);
    if (next_sp_ != at.sp || cursor_ >= end()) return 0;
    const Frame& same = storage_[cursor_];
    if (same.pc != at.pc || same.exact != at.exact || same.guessed ||
        !Check(cursor_, memory, cfi)) {
      return 0;
    }
    if ((same.step & Frame::kNeedsFp) != 0 &&
        (!at.has_fp || at.fp != same.fp)) {
      return 0;
    }
    return end() - cursor_;
  }

  // Of the `same` outer frames, number `kept`. Its FP is known if any frame may
  // need it: so it was among those that are checked.
  Position LastOf(size_t same, size_t kept) const {
    const Frame& last = storage_[end() - same + kept - 1];
    return {last.pc, last.sp, last.fp, /*has_fp=*/true, last.exact};
  }
  // The first `kept` of the `same` outer frames follow the `written` of this
  // walk.
  void Keep(size_t written, size_t same, size_t kept) {
    Copy(end() - same, kept, fresh() + written);
  }

  // Ends a walk that wrote `written` frames, to be followed by the first `kept`
  // of the `same` outer ones that it found. From frame `plain_from` on all are
  // plain.
  void End(size_t written, size_t same, size_t kept, size_t plain_from,
           WalkEnd end) {
    const size_t kept_from = this->end() - same;
    const size_t room = kept_from - (begin_ < half() ? 0 : half());
    size_t flagged = kept_from;
    if (written <= kept && written <= room) {
      Copy(fresh(), written, kept_from - written);
      begin_ = kept_from - written;
    } else {
      Keep(written, same, kept);
      begin_ = fresh();
      flagged = begin_ + written;
    }
    count_ = written + kept;
    is_cut_ = end == WalkEnd::kDepth;
    plain_ =
        end == WalkEnd::kRoot || is_cut_ ? begin_ + plain_from : this->end();
    flagged_ = flagged;
    if (kept == 0 && count_ != 0) {
      flagged_ = this->end() - 1;
      // Whether a frame beyond needs it, nobody knows.
      if (is_cut_) storage_[flagged_].step |= Frame::kNeedsFp;
    }
  }

 private:
  size_t end() const { return begin_ + count_; }
  size_t half() const { return storage_.size() / 2; }
  // Where a walk writes its frames: in the other half, behind some room for
  // more on top of them.
  size_t fresh() const {
    return (begin_ < half() ? half() : 0) + half() - depth_;
  }
  void Copy(size_t from, size_t count, size_t to) {
    for (size_t i = 0; i < count; ++i) storage_[to + i] = storage_[from + i];
  }

  // To the first frame at or above `sp`: in steps that double, as another stack
  // may have been far deeper.
  void SkipBelow(uint64_t sp) {
    const size_t end = this->end();
    size_t below = cursor_;
    size_t step = 1;
    while (step < end - below && storage_[below + step].sp < sp) {
      below += step;
      step *= 2;
    }
    // The frame a step further, or the end, is not below.
    for (; step != 0; step /= 2) {
      if (step < end - below && storage_[below + step].sp < sp) below += step;
    }
    SetCursor(below + 1);
  }

  // Not to the root alone: what makes it one is a matter of its callee, too.
  void SetCursor(size_t cursor) {
    cursor_ = cursor;
    next_sp_ = cursor + 1 < end() ? storage_[cursor].sp : kNoSp;
  }

  // Do the steps from frame `first` on read what they read then? What is found
  // to differ is behind the cursor for the rest of the walk.
  template <class Memory, class Cfi>
  [[gnu::hot]] bool Check(size_t first, Memory& memory, Cfi& cfi) {
    if (first < flagged_) SetFlags(first);
    const Frame* caller = storage_.data() + checked_;
    if (checked_ + 1 == end() && !IsStill(*caller, cfi)) {
      SetCursor(end());
      return false;
    }
    size_t i = checked_;
    if constexpr (requires { memory.plain_words_from(0); }) {
      i = CheckPlain(first, i, memory, cfi);
      caller = storage_.data() + i;
    }
    for (; i > first; --i, --caller) {
      if (!IsSame(caller[-1], *caller, memory, cfi)) {
        checked_ = i;
        SetCursor(i);
        return false;
      }
    }
    checked_ = first;
    return true;
  }

  // The same from `from` down to `first`, for what plain loads may read and
  // modules that stay: gives where anything else comes, or differs.
  template <class Memory, class Cfi>
  size_t CheckPlain(size_t first, size_t from, Memory& memory, Cfi& cfi) {
    // Stacks grow: what is between the ends is where they are.
    const uint64_t low = storage_[first].sp;
    if (storage_[from].sp - low >= memory.plain_words_from(low)) return from;
    const ModuleId lasting = cfi.lasting_modules();
    const Frame* caller = storage_.data() + from;
    for (; from > first; --from, --caller) {
      const Frame& callee = caller[-1];
      if (Memory::LoadPlain(caller->sp + static_cast<uint64_t>(
                                             Arch::kRaOffset)) != caller->pc ||
          callee.module >= lasting) {
        break;
      }
      if ((callee.step & (Frame::kFpCounts | Frame::kRealigned)) != 0 &&
          !IsFpSame(callee, *caller, memory)) {
        break;
      }
    }
    return from;
  }

  // From frame `first` on: what a step must keep is a matter of its caller's.
  [[gnu::noinline]] void SetFlags(size_t first) {
    for (; flagged_ > first; --flagged_) {
      const Frame& caller = storage_[flagged_];
      Frame& callee = storage_[flagged_ - 1];
      const bool is_needed = (caller.step & Frame::kNeedsFp) != 0;
      const bool is_saved = callee.fp_slot() != 0;
      uint8_t step = callee.step & ~(Frame::kFpCounts | Frame::kNeedsFp);
      if (is_needed && is_saved) step |= Frame::kFpCounts;
      if (callee.uses_fp() || (is_needed && !is_saved)) {
        step |= Frame::kNeedsFp;
      }
      callee.step = step;
    }
  }

  template <class Memory, class Cfi>
  static bool IsSame(const Frame& callee, const Frame& caller, Memory& memory,
                     Cfi& cfi) {
    uint64_t word = 0;
    if (!memory.Read(caller.sp + static_cast<uint64_t>(Arch::kRaOffset),
                     Arch::kWordSize, &word) ||
        word != caller.pc || !IsStill(callee, cfi)) {
      return false;
    }
    return (callee.step & (Frame::kFpCounts | Frame::kRealigned)) == 0 ||
           IsFpSame(callee, caller, memory);
  }

  // What such a step reads besides the return address.
  template <class Memory>
  static bool IsFpSame(const Frame& callee, const Frame& caller,
                       Memory& memory) {
    uint64_t word = 0;
    const uint64_t slot = callee.fp_slot() * Arch::kWordSize;
    if ((callee.step & Frame::kRealigned) == 0) {
      return memory.Read(caller.sp - slot, Arch::kWordSize, &word) &&
             word == caller.fp;
    }
    return memory.Read(callee.fp - slot, Arch::kWordSize, &word) &&
           word == caller.sp &&
           ((callee.step & Frame::kFpCounts) == 0 ||
            (memory.Read(callee.fp, Arch::kWordSize, &word) &&
             word == caller.fp));
  }

  template <class Cfi>
  static bool IsStill(const Frame& frame, Cfi& cfi) {
    return cfi.IsStill(LookupPc(frame), frame.module);
  }

  static constexpr uint64_t kNoSp = ~uint64_t{0};

  std::span<Frame> storage_;
  size_t depth_ = 0;  // of the deepest stack that there is room for
  size_t begin_ = 0;  // of the last stack
  size_t count_ = 0;  // of its frames
  bool is_cut_ = false;
  size_t plain_ = 0;    // from here on all steps are plain, up to the last
  size_t flagged_ = 0;  // from here on it is known whose FP counts
  size_t cursor_ = 0;   // of this walk: frames before it are not looked at
  uint64_t next_sp_ = kNoSp;  // of the frame there
  size_t checked_ = 0;  // of this walk: the steps from here on are the same
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_STACK_MEMO_H_
