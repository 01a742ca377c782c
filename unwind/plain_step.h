// The step that nearly all frames take, by PC, SP and FP alone: hardly one
// needs other callee-saved registers. Where one does, Walker recovers them up
// to there.

#ifndef UNSPOOL_UNWIND_PLAIN_STEP_H_
#define UNSPOOL_UNWIND_PLAIN_STEP_H_

#include <cstdint>

#include "unwind/byte_source.h"
#include "unwind/frame.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// Where a walk is: what plain steps know of a frame.
struct Position {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  bool has_fp = false;  // is it known?
  bool exact = true;    // as Frame::exact
};

// StepPlain() in a function that realigns its stack.
template <class Arch, MemoryReader Memory>
[[gnu::always_inline]] inline bool StepRealigned(const UnwindRule<Arch>& rule,
                                                 Memory& memory, Position* at,
                                                 Frame* frame) {
  uint64_t cfa = 0;
  uint64_t ra = 0;
  uint64_t saved_fp = 0;
  if (!at->has_fp || at->fp < at->sp ||
      !memory.Read(at->fp - rule.cfa_slot() * Arch::kWordSize, Arch::kWordSize,
                   &cfa) ||
      cfa <= at->fp || cfa % Arch::kSpAlignment != 0 ||
      !memory.Read(cfa + static_cast<uint64_t>(Arch::kRaOffset),
                   Arch::kWordSize, &ra) ||
      !memory.Read(at->fp, Arch::kWordSize, &saved_fp)) {
    return false;
  }
  frame->step = Frame::kPlain | Frame::kRealigned;
  frame->fp_rule = rule.fp_rule();
  *at = {ra, cfa, saved_fp, /*has_fp=*/true, /*exact=*/false};
  return true;
}

// From `*at` to its caller by `rule`; notes in `*frame` how that depends on
// memory. False: this is no plain step, nothing was done. Async-signal-safe if
// Memory is.
template <class Arch, MemoryReader Memory>
[[gnu::always_inline]] inline bool StepPlain(const UnwindRule<Arch>& rule,
                                             Memory& memory, Position* at,
                                             Frame* frame) {
  if (rule.is_realigned()) return StepRealigned(rule, memory, at, frame);
  if (!rule.is_plain() || (rule.uses_fp() && !at->has_fp)) return false;
  const uint64_t base = rule.uses_fp() ? at->fp : at->sp;
  const uint64_t cfa = base + rule.cfa_offset();
  const uint64_t slot = rule.fp_slot();
  // Where FP is kept, the return address is read once more.
  const uint64_t ra_slot = cfa + static_cast<uint64_t>(Arch::kRaOffset);
  const uint64_t fp_slot = slot == 0 ? ra_slot : cfa - slot * Arch::kWordSize;
  uint64_t ra = 0;
  uint64_t saved_fp = 0;
  if (cfa <= at->sp || cfa % Arch::kSpAlignment != 0 ||
      !memory.Read(ra_slot, Arch::kWordSize, &ra) ||
      !memory.Read(fp_slot, Arch::kWordSize, &saved_fp)) {
    return false;
  }
  frame->step = Frame::kPlain;
  frame->fp_rule = rule.fp_rule();
  at->pc = ra;
  at->sp = cfa;
  at->fp = slot == 0 ? at->fp : saved_fp;
  at->has_fp = at->has_fp || slot != 0;
  at->exact = false;
  return true;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_PLAIN_STEP_H_
