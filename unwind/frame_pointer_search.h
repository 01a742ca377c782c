// Finds a frame pointer that is not known: of a thread that waits in a system
// call only PC and SP are told, and a function whose CFA is relative to FP can
// then not be left by its rule alone.
//
// But SP is known, and the function's prologue says how far it is from FP: what
// its rule has saved, and what it subtracts from SP. If there is no return
// address (alloca(), arguments on the stack), the stack is searched upwards for
// one behind a call of that very function. Both are guesses.

#ifndef UNSPOOL_UNWIND_FRAME_POINTER_SEARCH_H_
#define UNSPOOL_UNWIND_FRAME_POINTER_SEARCH_H_

#include <cstddef>
#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/code_reader.h"
#include "unwind/dwarf_expression.h"
#include "unwind/frame.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// All members are async-signal-safe if Memory's and Cfi's are.
template <class Arch, MemoryReader Memory, class Cfi>
class FramePointerSearch {
 public:
  using Registers = typename Arch::Registers;

  FramePointerSearch(Memory& memory, Cfi& cfi)
      : memory_(memory), code_(memory), cfi_(cfi) {}

  // Gives *now, the registers of `frame`, the FP that `rule` needs. False if
  // nothing fits within kMaxFrameBytes, or something could not be read. Changes
  // what `cfi` answered last.
  bool Find(const Frame& frame, const UnwindRule<Arch>& rule, Registers* now) {
    function_ = cfi_.FindFunction(LookupPc(frame));
    if (function_ == 0) return false;
    if (FindByPrologue(frame, rule, now) || FindByCall(rule, now)) return true;
    now->Forget(Arch::kFp);
    return false;
  }

  // Is FP an outer frame's? A frame in between has then saved it, next to its
  // return address. True, too, if something could not be read, or FP is further
  // than kMaxFrameBytes above SP.
  bool IsOuter(uint64_t sp, uint64_t fp) {
    if (fp - sp >= kMaxFrameBytes) return true;
    for (uint64_t slot = sp; slot < fp; slot += Arch::kWordSize) {
      uint64_t saved_fp = 0;
      uint64_t ra = 0;
      if (!code_.Read(slot, Arch::kWordSize, &saved_fp)) return true;
      if (saved_fp != fp) continue;
      if (!code_.Read(slot + Arch::kWordSize, Arch::kWordSize, &ra))
        return true;
      if (cfi_.IsCode(ra - 1) && code_.FollowsCall(ra)) {
        return true;
      }
    }
    return false;
  }

 private:
  // Functions with larger frames are not left: each word costs time.
  static constexpr uint64_t kMaxFrameBytes = 128 << 10;

  bool FindByPrologue(const Frame& frame, const UnwindRule<Arch>& rule,
                      Registers* now) {
    const uint64_t cfa = now->sp() + rule.saved_bytes() +
                         code_.FindStackAllocation(function_, frame.pc);
    now->Set(Arch::kFp, cfa - rule.cfa_offset());
    Registers caller;
    if (rule.Apply(*now, memory_, &caller) != StepStatus::kOk ||
        !cfi_.IsCode(caller.pc() - 1)) {
      return false;
    }
    const CallSite call = code_.FindCallBefore(caller.pc());
    if (code_.IsCallOf(call, function_)) return true;
    // Called through a pointer: then the caller must have one, too. Not if the
    // prologue may be under way: the place is then an outer frame's.
    return call.kind == CallSite::Kind::kIndirect && !frame.exact &&
           HasCaller(caller);
  }

  bool FindByCall(const UnwindRule<Arch>& rule, Registers* now) {
    constexpr uint64_t kAlign = Arch::kCfaAlignment;
    const uint64_t low = (now->sp() + kAlign) & ~(kAlign - 1);
    for (uint64_t cfa = low; cfa - low < kMaxFrameBytes; cfa += kAlign) {
      uint64_t ra = 0;
      code_.Read(cfa + static_cast<uint64_t>(Arch::kRaOffset), Arch::kWordSize,
                 &ra);
      const bool fits = ra != 0 && cfi_.IsCode(ra - 1) &&
                        code_.IsCallOf(code_.FindCallBefore(ra), function_);
      // What could not be read may be what is looked for.
      if (code_.failed_reads() != 0) return false;
      if (!fits) continue;
      now->Set(Arch::kFp, cfa - rule.cfa_offset());
      return true;
    }
    return false;
  }

  bool HasCaller(const Registers& frame) {
    const auto answer = cfi_.Find(frame.pc(), /*exact=*/false);
    if (answer.rule.is_root()) return true;
    Registers caller;
    StepStatus status = StepStatus::kBadCfi;
    if (answer.rule.is_step() || answer.rule.is_realigned()) {
      status = answer.rule.Apply(frame, memory_, &caller);
    } else if (answer.kind == decltype(answer)::Kind::kRow) {
      status = cfi_.ApplyRow(frame, memory_, &caller);
    }
    return status == StepStatus::kOk && caller.sp() > frame.sp() &&
           cfi_.IsCode(caller.pc() - 1) && code_.FollowsCall(caller.pc());
  }

  Memory& memory_;
  CodeReader<Arch, Memory> code_;
  Cfi& cfi_;
  uint64_t function_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_FRAME_POINTER_SEARCH_H_
