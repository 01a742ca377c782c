// What a return address must be before it is taken for a frame, and what rules
// must be before they are taken for known.

#ifndef UNSPOOL_UNWIND_CALLER_CHECK_H_
#define UNSPOOL_UNWIND_CALLER_CHECK_H_

#include <cstdint>

#include "unwind/cfi_answer.h"
#include "unwind/code_reader.h"
#include "unwind/frame.h"
#include "unwind/plain_step.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// A return address is right only if it follows a call, or is the signal
// trampoline's, or where a context begins; 0 is none of these (it is what the
// wrong slot holds where libgcc is about to land an exception). Otherwise what
// led here was wrong, and the frame would be garbage. One that was not guessed,
// and has a rule already, was looked at before. Async-signal-safe if Memory is.
template <class Arch, MemoryReader Memory>
bool IsBelievable(const Frame& frame, const CfiAnswer<Arch>& answer,
                  CodeReader<Arch, Memory>& code) {
  const bool is_new = frame.guessed || answer.is_new ||
                      answer.kind == CfiAnswer<Arch>::Kind::kNone;
  return frame.exact || !is_new || answer.is_signal_frame ||
         answer.rule.is_context_root() || code.FollowsCall(frame.pc) ||
         code.IsTrampoline(frame.pc);
}

// The rule of a caller that was not met before, if it is a usual one and the
// return address `ra` is believable, and has `cfi` learn it; else the zero
// word. Async-signal-safe if Memory and Cfi are.
template <class Arch, MemoryReader Memory, class Cfi>
[[gnu::noinline, gnu::hot]] UnwindRule<Arch> LearnCaller(
    uint64_t ra, CodeReader<Arch, Memory>& code, Cfi& cfi) {
  const uint64_t lookup_pc = LookupPc(ra, /*exact=*/false);
  const UnwindRule<Arch> rule = cfi.FindUsual(lookup_pc);
  if (rule.word() == 0 || !code.FollowsCall(ra)) return {};
  cfi.Learn(lookup_pc, rule);
  return rule;
}

// The same of an interrupted PC, that of `at`. What CFI says of one whose
// return is near must be what the code says (near_return.h); where it is not,
// and where FP would have to be searched for, CallerGuess decides.
template <class Arch, MemoryReader Memory, class Cfi>
[[gnu::noinline, gnu::hot]] UnwindRule<Arch> LearnInterrupted(
    const Position& at, CodeReader<Arch, Memory>& code, Cfi& cfi) {
  const UnwindRule<Arch> rule = cfi.FindUsual(at.pc);
  if (!rule.is_plain() || (rule.uses_fp() && !at.has_fp)) return {};
  const auto place = code.FindNearReturn(at.pc);
  if (place && (place->base == Arch::kSp || at.has_fp)) {
    const uint64_t base = place->base == Arch::kSp ? at.sp : at.fp;
    const auto behind = static_cast<uint64_t>(place->offset - Arch::kRaOffset);
    if (base + behind != (rule.uses_fp() ? at.fp : at.sp) + rule.cfa_offset()) {
      return {};
    }
  }
  cfi.Learn(at.pc, rule);
  return rule;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CALLER_CHECK_H_
