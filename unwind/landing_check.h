// Is a step right in a function that lands exceptions?
//
// libgcc lands an exception by writing the landing pad's registers over what a
// frame of its own has saved, first where the pad finds the exception, last the
// return address, and then leaves that frame for the pad. Meanwhile CFI that is
// formally right leads to wrong callers. A caller that does not call this
// function gives it away; before, the frame pointer may be the pad's, which is
// left to whatever needs it.

#ifndef UNSPOOL_UNWIND_LANDING_CHECK_H_
#define UNSPOOL_UNWIND_LANDING_CHECK_H_

#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/cfi_answer.h"
#include "unwind/code_reader.h"
#include "unwind/dwarf_expression.h"
#include "unwind/frame.h"

namespace unspool::unwind {

struct LandingVerdict {
  StepStatus status = StepStatus::kOk;  // kBadCfi: the caller is none
  bool is_exact = false;                // the caller's PC
  bool is_guess = false;                // the caller
  bool is_fp_doubtful = false;          // the caller's FP may be the pad's
};

// Async-signal-safe if Memory's and Cfi's members are.
template <class Arch, MemoryReader Memory, class Cfi>
class LandingCheck {
 public:
  using Registers = typename Arch::Registers;

  LandingCheck(CodeReader<Arch, Memory>& code, Cfi& cfi)
      : code_(code), cfi_(cfi) {}

  // Of a step from `frame`, with an FP that may be doubtful, to the registers
  // `up`. `is_first`: that frame was called by no other since the interruption.
  LandingVerdict Check(const Frame& frame, Landing landing, const Registers& up,
                       bool is_fp_doubtful, bool is_first) {
    LandingVerdict verdict;
    const bool holds_exception =
        landing == Landing::kPossible && HoldsException(up);
    if (landing == Landing::kPossible && !holds_exception && !is_fp_doubtful) {
      return verdict;
    }
    const CallSite call = code_.FindCallBefore(up.pc());
    const bool is_caller =
        code_.IsCallOf(call, cfi_.FindFunction(LookupPc(frame)));
    if (landing == Landing::kDone) {
      // The pad need not follow a call.
      verdict.is_exact = frame.exact && !is_caller;
      verdict.is_fp_doubtful = is_fp_doubtful;
      return verdict;
    }
    // What else libgcc calls from there, calls others.
    verdict.is_fp_doubtful = holds_exception && is_first;
    if (is_caller) return verdict;
    if (call.kind == CallSite::Kind::kIndirect && call.target == 0) {
      verdict.is_guess = true;  // called by a pointer in a register
    } else {
      verdict.status = StepStatus::kBadCfi;
    }
    return verdict;
  }

 private:
  // Is there an _Unwind_Exception where a landing pad expects one, and on its
  // way? Its private words, the third and the fourth, then are 0 and the CFA to
  // land at, or a function to ask and its argument.
  bool HoldsException(const Registers& up) {
    const uint64_t exception = up.Get(Arch::kLandingRegisters[0]);
    uint64_t stop_function = 0;
    uint64_t cfa = 0;
    if (exception == 0 ||
        !code_.Read(exception + 2 * Arch::kWordSize, Arch::kWordSize,
                    &stop_function) ||
        !code_.Read(exception + 3 * Arch::kWordSize, Arch::kWordSize, &cfa)) {
      return false;
    }
    return stop_function == 0 ? cfa >= up.sp() : cfi_.IsCode(stop_function);
  }

  CodeReader<Arch, Memory>& code_;
  Cfi& cfi_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LANDING_CHECK_H_
