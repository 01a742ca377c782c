// What a walk asks about a PC, and what it is told.

#ifndef UNSPOOL_UNWIND_CFI_ANSWER_H_
#define UNSPOOL_UNWIND_CFI_ANSWER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/byte_source.h"
#include "unwind/dwarf_expression.h"
#include "unwind/frame.h"
#include "unwind/plain_step.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// Does the function at hand land exceptions, as libgcc's _Unwind_Resume() does?
enum class Landing : uint8_t {
  kNone,      // it does not
  kPossible,  // it does, and may be about to
  kDone,      // it does, and returns, or jumps to the landing pad
};

// What is known about a PC.
template <class Arch>
struct CfiAnswer {
  enum class Kind : uint8_t {
    kRule,  // `rule` holds
    kRow,   // the row, by CfiSource::ApplyRow
    kNone,  // no unwind data covers it
    kBad,   // what covers it is malformed or beyond the limits
  };

  ModuleId module = kNoModule;
  Kind kind = Kind::kNone;
  // It was found just now: to be checked against the code. If that holds,
  // Learn() keeps its rule, and it will not be new again.
  bool is_new = false;
  bool is_signal_frame = false;      // kRow: the caller was interrupted
  Landing landing = Landing::kNone;  // kRow
  UnwindRule<Arch> rule;
};

// A rule that is known already.
template <class Arch>
struct KnownRule {
  UnwindRule<Arch> rule;  // the zero word: none is
  ModuleId module = kNoModule;
};

// Find(pc, exact): the answer for a frame. FindKnown(pc): what Find would
// answer for a look-up PC, as far as that needs no search; there is no last
// answer after it. StepOn(memory, &at, frames): takes as many plain steps by
// such rules as is easy, from a return address with a known FP; writes their
// frames and gives how many these are; no last answer either. FindUsual(pc):
// the rule of a look-up PC that FindKnown() has none for, if it is found at
// once (the zero word: ask Find); there is no last answer after it.
// ApplyRow(frame, memory, &caller): the step of the last answer, if that was
// kRow. IsCode(address): may there be instructions, in an executable segment of
// a module? FindFunction(pc): where the function begins whose unwind data
// covers a look-up PC (0: none does); there is no last answer after it.
// Learn(pc, rule): what was found for a look-up PC, or guessed; may be the
// answer from now on, if it is a rule. IsStill(pc, module): is that the module
// of a look-up PC, as it was in an earlier walk?
template <class T, class Arch, class Memory>
concept CfiAnswers = requires(T cfi, uint64_t pc, Position* at,
                              std::span<Frame> frames,
                              const typename Arch::Registers& frame,
                              Memory& memory,
                              typename Arch::Registers* caller) {
  { cfi.Find(pc, true) } -> std::same_as<CfiAnswer<Arch>>;
  { cfi.FindKnown(pc) } -> std::same_as<KnownRule<Arch>>;
  { cfi.FindUsual(pc) } -> std::same_as<UnwindRule<Arch>>;
  { cfi.StepOn(memory, at, frames) } -> std::same_as<size_t>;
  { cfi.ApplyRow(frame, memory, caller) } -> std::same_as<StepStatus>;
  { cfi.IsCode(pc) } -> std::same_as<bool>;
  { cfi.FindFunction(pc) } -> std::same_as<uint64_t>;
  cfi.Learn(pc, UnwindRule<Arch>());
  { cfi.IsStill(pc, kNoModule) } -> std::same_as<bool>;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_ANSWER_H_
