// The walk: from registers to frames, one caller at a time.
//
// Order of trust: a return that is near (near_return.h); CFI that leads behind
// a call (with a frame pointer that was searched for where it is not known,
// frame_pointer_search.h; and not where an exception is about to land,
// landing_check.h); the kernel's signal frame by its code; a believable guess
// (caller_guess.h); else the walk stops and says why. Knows nothing of
// processes: registers, a memory reader and a source of CFI answers in, frames
// out.

#ifndef UNSPOOL_UNWIND_WALK_H_
#define UNSPOOL_UNWIND_WALK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/caller_check.h"
#include "unwind/caller_guess.h"
#include "unwind/cfi_answer.h"
#include "unwind/code_reader.h"
#include "unwind/dwarf_expression.h"
#include "unwind/frame.h"
#include "unwind/frame_pointer_search.h"
#include "unwind/landing_check.h"
#include "unwind/memo_look.h"
#include "unwind/plain_step.h"
#include "unwind/stack_memo.h"

namespace unspool::unwind {

// What a walk works in; what is in it before does not matter.
template <class Arch>
struct WalkState {
  // Of the frame at hand and of its caller, in turns.
  std::array<typename Arch::Registers, 2> registers;
  FollowedCode<Arch> followed;
};

// One walk. All members are async-signal-safe if Memory's and Cfi's are.
template <class Arch, MemoryReader Memory, class Cfi>
requires CfiAnswers<Cfi, Arch, Memory>
class Walker {
 public:
  using Registers = typename Arch::Registers;
  using Answer = CfiAnswer<Arch>;

  Walker(Memory& memory, Cfi& cfi, WalkState<Arch>& state)
      : memory_(memory),
        code_(memory),
        cfi_(cfi),
        guess_(memory, cfi, state.followed),
        registers_(state.registers) {}

  // Walks from `start`, the registers of an interrupted instruction; at least
  // PC and SP are known. Writes at most frames.size() frames, leaf first.
  WalkResult Walk(const Registers& start, std::span<Frame> frames) {
    MemoLook<Arch> look(nullptr);
    return Walk(start, frames, look);
  }

  // The same, with the frames in `memo`, whose last stack spares the walk what
  // has not changed since. The result is the same as without.
  WalkResult Walk(const Registers& start, StackMemo<Arch>& memo) {
    MemoLook<Arch> look(&memo);
    WalkResult result = Walk(start, memo.Begin(), look);
    memo.End(result.depth, look.same(), look.kept(), plain_from_, result.end);
    result.depth += static_cast<uint32_t>(look.kept());
    if (look.kept() == look.same()) {
      result.same = static_cast<uint32_t>(look.same());
    }
    return result;
  }

 private:
  // Stacks that handlers on alternate stacks may lead through before the walk
  // is taken for a loop.
  static constexpr unsigned kMaxStackSwitches = 16;

  [[gnu::hot]] WalkResult Walk(const Registers& start, std::span<Frame> frames,
                               MemoLook<Arch>& look) {
    start_ = &start;
    Position at = {start.pc(), start.sp(), start.fp(), start.Has(Arch::kFp),
                   /*exact=*/true};
    WalkResult result;
    for (;;) {
      if (result.depth == frames.size()) {
        return End(result, WalkEnd::kDepth, frames);
      }
      if (result.depth >= look.due() && IsSure()) {
        const uint32_t depth = result.depth;
        if (look.EndsAsBefore(memory_, cfi_, frames.size(), &at, &result)) {
          return result;
        }
        calls_ += result.depth - depth;
      }
      if (!at.exact && at.has_fp && IsSure()) {
        const size_t limit =
            look.due() < frames.size() ? look.due() : frames.size();
        const size_t steps = cfi_.StepOn(
            memory_, &at, frames.subspan(result.depth, limit - result.depth));
        result.depth += static_cast<uint32_t>(steps);
        calls_ += static_cast<unsigned>(steps);
        if (steps != 0) continue;
      }
      // Field by field, into its place: copies of a Frame that was just written
      // so stall the processor for longer than the rest of a step takes.
      Frame& frame = frames[result.depth];
      frame.pc = at.pc;
      frame.exact = at.exact;
      frame.guessed = is_guessed_;
      frame.sp = at.sp;
      frame.fp = at.fp;
      calls_ = at.exact ? 0 : calls_ + 1;
      if (IsSure()) {
        const KnownRule<Arch> known = cfi_.FindKnown(LookupPc(at.pc, at.exact));
        frame.module = known.module;
        if (StepPlain(known.rule, memory_, &at, &frame)) {
          ++result.depth;
          continue;
        }
        if (known.rule.is_plain_root()) {
          frame.step = 0;
          frame.fp_rule = 0;
          ++result.depth;
          return result;
        }
        if (known.rule.word() == 0 &&
            StepPlain(at.exact ? LearnInterrupted<Arch>(at, code_, cfi_)
                               : LearnCaller<Arch>(at.pc, code_, cfi_),
                      memory_, &at, &frame)) {
          ++result.depth;
          continue;
        }
      }
      const WalkEnd end = StepInFull(frames.first(result.depth + 1), &result);
      if (end != WalkEnd::kRoot) return End(result, end, frames);
      if (is_at_root_) return result;
      const Registers& up = registers_[turn_];
      at = {pc_, up.sp(), up.fp(), up.Has(Arch::kFp), is_exact_};
    }
  }

  bool IsSure() const { return !is_guessed_ && !is_fp_doubtful_; }

  // Any step, by all registers, from the last of `frames`; counts it. kRoot:
  // all is well, and is_at_root_ if there is no caller.
  [[gnu::noinline]] WalkEnd StepInFull(std::span<Frame> frames,
                                       WalkResult* result) {
    Frame& frame = frames.back();
    const Frame* callee = frames.size() < 2 ? nullptr : &frame - 1;
    frame.module = kNoModule;
    frame.step = 0;
    frame.fp_rule = 0;
    if (recovered_ == 0) registers_[turn_] = *start_;
    if (!RecoverRegisters(frames.first(frames.size() - 1))) {
      return WalkEnd::kBadCfi;
    }
    const Answer answer = cfi_.Find(frame.pc, frame.exact);
    frame.module = answer.module;
    if (!IsBelievable(frame, answer, code_)) {
      return frame.guessed ? WalkEnd::kNoCfi : WalkEnd::kBadCfi;
    }
    // Only code that switches contexts is in the same library as where they
    // start: it has loaded the SP of one that it is about to enter.
    if (answer.rule.is_context_root() && callee != nullptr &&
        callee->module == answer.module) {
      return WalkEnd::kBadCfi;
    }
    ++result->depth;
    is_at_root_ = answer.rule.is_root();
    // Of interrupted frames Step() checks it first.
    if (answer.is_new && !(frame.exact && answer.rule.is_step())) {
      cfi_.Learn(LookupPc(frame), answer.rule);
    }
    if (is_at_root_) return WalkEnd::kRoot;
    recovered_ = result->depth;
    const WalkEnd end = Step(frame, answer);
    if ((frame.step & Frame::kPlain) == 0) plain_from_ = result->depth;
    return end;
  }

  // Of the frame that follows `frames`, which steps by known rules led through.
  bool RecoverRegisters(std::span<const Frame> frames) {
    for (; recovered_ < frames.size(); ++recovered_) {
      const Frame& frame = frames[recovered_];
      const Answer answer = cfi_.Find(frame.pc, frame.exact);
      if (answer.kind != Answer::Kind::kRule ||
          !(answer.rule.is_plain() || answer.rule.is_realigned()) ||
          answer.rule.Apply(registers_[turn_], memory_,
                            &registers_[turn_ ^ 1]) != StepStatus::kOk) {
        return false;  // its module went away meanwhile
      }
      turn_ ^= 1;
    }
    return true;
  }

  static WalkResult End(WalkResult result, WalkEnd end,
                        std::span<const Frame> frames) {
    result.end = end;
    if (result.depth != 0) result.failed_pc = frames[result.depth - 1].pc;
    return result;
  }

  // One step up: fills the other registers, pc_, is_exact_ and is_guessed_
  // for the caller, and in the frame how that depends on memory. kRoot: all is
  // well.
  WalkEnd Step(Frame& frame, const Answer& answer) {
    const Registers& now = registers_[turn_];
    Registers& up = registers_[turn_ ^ 1];
    is_exact_ = is_guessed_ = false;
    StepStatus status = StepStatus::kOk;
    bool may_keep_sp = false;
    switch (answer.kind) {
      case Answer::Kind::kRule:
        if (answer.rule.is_no_caller()) return WalkEnd::kNoCfi;
        if (answer.rule.is_no_way()) {
          if (StepWithoutCfi(frame, now, /*is_hopeless=*/true, &up)) break;
          return WalkEnd::kNoCfi;
        }
        is_guessed_ = answer.rule.is_guess();
        frame.fp_rule = answer.rule.fp_rule();
        if (answer.rule.is_realigned()) {
          // All that it says is relative to FP.
          is_guessed_ = is_fp_doubtful_;
          is_fp_doubtful_ = false;
        } else if (IsSure()) {
          frame.step = Frame::kPlain;
        }
        if (is_fp_doubtful_) ConfirmFramePointer(frame, answer.rule);
        status = answer.rule.Apply(now, memory_, &up);
        if (status == StepStatus::kNoRegister &&
            FindFramePointer(frame, answer.rule)) {
          frame.step = 0;
          status = answer.rule.Apply(now, memory_, &up);
        } else if (status == StepStatus::kOk && answer.is_new && frame.exact &&
                   answer.rule.is_step() &&
                   guess_.Overrules(frame, answer.rule, now, &up)) {
          is_guessed_ = true;
          frame.step = 0;
        }
        break;
      case Answer::Kind::kRow:
        status = cfi_.ApplyRow(now, memory_, &up);
        if (status == StepStatus::kNoRegister && KeepScratch(up)) {
          status = cfi_.ApplyRow(now, memory_, &up);
        }
        is_exact_ = answer.is_signal_frame;
        may_keep_sp = frame.exact && !answer.is_signal_frame;  // vfork's
        if (answer.is_signal_frame) {
          is_fp_doubtful_ = false;
        } else if (status == StepStatus::kOk &&
                   (answer.landing != Landing::kNone || is_fp_doubtful_)) {
          CheckLanding(frame, answer.landing, up, &status);
        }
        break;
      case Answer::Kind::kNone:
      case Answer::Kind::kBad:
        if (!StepWithoutCfi(frame, now, /*is_hopeless=*/false, &up)) {
          return answer.kind == Answer::Kind::kBad ? WalkEnd::kBadCfi
                                                   : WalkEnd::kNoCfi;
        }
        break;
    }
    if (status == StepStatus::kBadMemory) return WalkEnd::kBadMemory;
    if (status == StepStatus::kBadCfi) return WalkEnd::kBadCfi;
    if (status == StepStatus::kNoRegister) return WalkEnd::kNoRegister;
    turn_ ^= 1;
    pc_ = up.pc();
    return CheckProgress(now, up, may_keep_sp);
  }

  // Not inlined: next to no walk needs it, and its stack is a handler's.
  [[gnu::noinline]] bool FindFramePointer(const Frame& frame,
                                          const UnwindRule<Arch>& rule) {
    if (!rule.is_step()) return false;
    FramePointerSearch<Arch, Memory, Cfi> search(memory_, cfi_);
    is_guessed_ = search.Find(frame, rule, &registers_[turn_]);
    return is_guessed_;
  }

  // Assembly calls functions of its own that spare registers which others may
  // overwrite, and its CFI counts on that (libcrypto's AES-GCM: CFA = rax + 8).
  // `callee` still holds those of the frame before. If that was interrupted,
  // what it had is a guess for the frame at hand.
  [[gnu::noinline]] bool KeepScratch(const Registers& callee) {
    if (calls_ != 1) return false;
    Registers& now = registers_[turn_];
    for (size_t i = 0; i < Arch::kRegisterCount; ++i) {
      if (!now.Has(i)) now.CopyFrom(callee, i);
    }
    is_guessed_ = true;
    return true;
  }

  [[gnu::noinline]] void CheckLanding(const Frame& frame, Landing landing,
                                      const Registers& up, StepStatus* status) {
    LandingCheck<Arch, Memory, Cfi> check(code_, cfi_);
    const LandingVerdict verdict =
        check.Check(frame, landing, up, is_fp_doubtful_, calls_ <= 1);
    *status = verdict.status;
    is_exact_ = verdict.is_exact;
    is_guessed_ = is_guessed_ || verdict.is_guess;
    is_fp_doubtful_ = verdict.is_fp_doubtful;
  }

  // A frame pointer that may be the landing pad's, an outer frame's. It is what
  // the prologue, or a call of this function, says; if they do not tell, and it
  // may be this frame's, it is a guess.
  [[gnu::noinline]] void ConfirmFramePointer(const Frame& frame,
                                             const UnwindRule<Arch>& rule) {
    Registers& now = registers_[turn_];
    const uint64_t fp = now.fp();
    if (rule.uses_fp()) {
      FramePointerSearch<Arch, Memory, Cfi> search(memory_, cfi_);
      const bool is_found = search.Find(frame, rule, &now);
      is_guessed_ = !is_found || now.fp() != fp;
      if (!is_found && !search.IsOuter(now.sp(), fp)) now.Set(Arch::kFp, fp);
    }
    is_fp_doubtful_ = rule.fp_slot() == 0;
  }

  // SP moves up, aligned; only a signal may have switched the stack.
  WalkEnd CheckProgress(const Registers& now, const Registers& up,
                        bool may_keep_sp) {
    if (!up.Has(Arch::kSp) || !up.Has(Arch::kRa)) return WalkEnd::kBadCfi;
    const bool moved_up =
        up.sp() > now.sp() || (may_keep_sp && up.sp() == now.sp());
    if (is_exact_) {
      if (!moved_up && ++stack_switches_ > kMaxStackSwitches) {
        return WalkEnd::kLoop;
      }
      return WalkEnd::kRoot;
    }
    if (!moved_up) return WalkEnd::kLoop;
    if (up.sp() % Arch::kSpAlignment != 0) return WalkEnd::kBadCfi;
    return WalkEnd::kRoot;
  }

  bool StepWithoutCfi(const Frame& frame, const Registers& now,
                      bool is_hopeless, Registers* up) {
    if (code_.IsTrampoline(frame.pc)) {
      const auto read = [&](uint64_t address, uint64_t* word) {
        return memory_.Read(address, Arch::kWordSize, word);
      };
      is_exact_ = true;
      return Arch::SignalFrame::Restore(now.sp(), read, up);
    }
    is_guessed_ = true;
    return guess_.Find(frame, now, is_hopeless, up);
  }

  Memory& memory_;
  CodeReader<Arch, Memory> code_;
  Cfi& cfi_;
  CallerGuess<Arch, Memory, Cfi> guess_;
  std::array<Registers, 2>& registers_;
  // Of the next frame, after a step in full.
  uint64_t pc_ = 0;
  bool is_exact_ = true;
  bool is_guessed_ = false;
  bool is_at_root_ = false;
  bool is_fp_doubtful_ = false;  // FP may be that of a landing pad
  unsigned calls_ = 0;           // frames since the last exact one
  unsigned turn_ = 0;  // registers_[turn_] are those of frame `recovered_`
  size_t recovered_ = 0;
  size_t plain_from_ = 0;  // all steps from that frame on are plain
  const Registers* start_ = nullptr;
  unsigned stack_switches_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_WALK_H_
