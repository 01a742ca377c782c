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
// is used again, and only if that walk reached the root.

#ifndef UNSPOOL_UNWIND_STACK_MEMO_H_
#define UNSPOOL_UNWIND_STACK_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/frame.h"
#include "unwind/plain_step.h"

namespace unspool::unwind {

// Frames lie leaf first at the storage's end, so that those that stay need not
// move; a walk writes new ones at its beginning. One walk at a time. All
// members are async-signal-safe.
template <class Arch>
class StackMemo {
 public:
  // Without storage: walks have no room for a frame.
  constexpr StackMemo() = default;
  explicit StackMemo(std::span<Frame> storage)
      : storage_(storage), begin_(storage.size()), plain_(storage.size()) {}

  // The stack of the last walk, leaf first.
  std::span<const Frame> frames() const {
    return storage_.subspan(begin_, count_);
  }
  // The next walk finds nothing to use again.
  void Forget() { plain_ = storage_.size(); }

  // The rest is for Walker. Room for a walk's frames, which end before those
  // that it can use.
  std::span<Frame> Begin() {
    checked_ = storage_.size() - 1;
    SetCursor(plain_);
    return storage_;
  }
  // FindSame() finds nothing for an SP below.
  uint64_t next_sp() const { return next_sp_; }

  // How many frames of the last stack, from that at `at` on, are the same now;
  // 0: walk on. `written`: frames of this walk so far.
  template <class Memory, class Cfi>
  size_t FindSame(Position at, size_t written, Memory& memory, Cfi& cfi) {
    // This walk's frames have overwritten those before.
    if (cursor_ <= written) SetCursor(written + 1);
    if (next_sp_ < at.sp) SkipBelow(at.sp);
    if (next_sp_ != at.sp || cursor_ >= storage_.size()) return 0;
    const Frame& same = storage_[cursor_];
    if (same.pc != at.pc || same.exact != at.exact || same.guessed) {
      return 0;
    }
    if ((same.step & Frame::kNeedsFp) != 0 &&
        (!at.has_fp || at.fp != same.fp)) {
      return 0;
    }
    return Check(cursor_, memory, cfi) ? storage_.size() - cursor_ : 0;
  }

  // Ends a walk that wrote `written` frames and found `same` to follow.
  void End(size_t written, size_t same, bool reached_root) {
    if (!reached_root) {
      begin_ = 0;
      count_ = written;
      plain_ = storage_.size();
      return;
    }
    begin_ = storage_.size() - same;
    plain_ = begin_;
    bool is_plain = true;
    bool needs_fp = same != 0 && (storage_[begin_].step & Frame::kNeedsFp) != 0;
    for (size_t i = written; i-- > 0;) {
      Frame frame = storage_[i];
      const bool is_root = begin_ == storage_.size();
      if (needs_fp && frame.fp_slot != 0) frame.step |= Frame::kFpCounts;
      needs_fp = (frame.step & Frame::kUsesFp) != 0 ||
                 (frame.fp_slot == 0 && needs_fp);
      if (needs_fp) frame.step |= Frame::kNeedsFp;
      is_plain = is_plain && (is_root || (frame.step & Frame::kPlain) != 0);
      storage_[--begin_] = frame;
      if (is_plain) plain_ = begin_;
    }
    count_ = written + same;
  }

 private:
  // To the first frame at or above `sp`: in steps that double, as another stack
  // may have been far deeper.
  void SkipBelow(uint64_t sp) {
    const size_t end = storage_.size();
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
    next_sp_ = cursor + 1 < storage_.size() ? storage_[cursor].sp : kNoSp;
  }

  // Do the steps from frame `first` on read what they read then? What is found
  // to differ is behind the cursor for the rest of the walk.
  template <class Memory, class Cfi>
  bool Check(size_t first, Memory& memory, Cfi& cfi) {
    const Frame* caller = storage_.data() + checked_;
    if (checked_ + 1 == storage_.size() && !IsStill(*caller, cfi)) {
      SetCursor(storage_.size());
      return false;
    }
    for (size_t i = checked_; i > first; --i, --caller) {
      if (!IsSame(caller[-1], *caller, memory, cfi)) {
        checked_ = i;
        SetCursor(i);
        return false;
      }
    }
    checked_ = first;
    return true;
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
    if ((callee.step & (Frame::kFpCounts | Frame::kRealigned)) == 0)
      return true;
    const uint64_t slot = callee.fp_slot * Arch::kWordSize;
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
  size_t begin_ = 0;   // of the last stack
  size_t count_ = 0;   // of its frames
  size_t plain_ = 0;   // from here on all steps are plain, up to the root
  size_t cursor_ = 0;  // of this walk: frames before it are not looked at
  uint64_t next_sp_ = kNoSp;  // of the frame there
  size_t checked_ = 0;  // of this walk: the steps from here on are the same
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_STACK_MEMO_H_
