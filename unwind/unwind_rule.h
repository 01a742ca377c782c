// A CFI row compiled into one word: what nearly all rows of real programs say.
//
//   bits  0..3   kind
//   bits  4..17  0, and the rule cache's own
//   bits 18..35  (CFA - SP or FP) / 8
//   bits 36..55  of each callee-saved register but FP four bits: k if it is
//                saved at CFA - 8 k, 0 if it is kept
//   bits 56..62  the same of FP
//   bit  63      the CFA is relative to FP instead of SP
//
// The return address is at CFA - 8, and the caller's SP is the CFA. Of
// functions that realign their stack, FP is at the frame's middle: the CFA is
// the word 8 k below it, with the k of bits 56..62, the caller's FP the word at
// it, and others are saved 8 k below FP instead of the CFA. Rows that do not
// fit have no rule; the row itself is then applied (row_step.h).

#ifndef UNSPOOL_UNWIND_UNWIND_RULE_H_
#define UNSPOOL_UNWIND_UNWIND_RULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/cfi_row.h"
#include "unwind/dwarf_constants.h"
#include "unwind/dwarf_expression.h"

namespace unspool::unwind {

// All members are async-signal-safe. The zero word is no rule.
template <class Arch>
class UnwindRule {
 public:
  using Registers = typename Arch::Registers;
  // Of each of Arch::kCalleeSaved k if it is saved at CFA - 8 k, 0 if it is
  // kept.
  using Slots = std::array<uint64_t, Arch::kCalleeSaved.size()>;

  constexpr UnwindRule() = default;
  static constexpr UnwindRule FromWord(uint64_t word) {
    return UnwindRule(word);
  }
  constexpr uint64_t word() const { return word_; }

  // Bits that are 0 in every word.
  static constexpr uint64_t kFreeBits = 0x3fff0;

  // The walk ends here, as it should.
  static constexpr UnwindRule Root() { return UnwindRule(kRoot); }
  // The same, where makecontext(3) makes a context's first function return to.
  static constexpr UnwindRule ContextRoot() { return UnwindRule(kContextRoot); }
  // The row says that there is no caller, where there should be one.
  static constexpr UnwindRule NoCaller() { return UnwindRule(kNoCaller); }

  // nullopt if the row says more than a rule can hold. `ra_register` is the
  // CIE's.
  static std::optional<UnwindRule> Compile(const CfiRow<Arch>& row,
                                           uint64_t ra_register) {
    if (ra_register != Arch::kRa || !HasPlainRegisters(row)) {
      return std::nullopt;
    }
    const CfaRule& cfa = row.cfa;
    if (cfa.kind != CfaRule::Kind::kRegisterOffset || cfa.value < 0 ||
        cfa.value % kWord != 0 || cfa.value / kWord > kMaxCfaWords ||
        (cfa.register_or_size != Arch::kSp &&
         cfa.register_or_size != Arch::kFp)) {
      return std::nullopt;
    }
    Slots slots;
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto slot = Slot(row.registers[Arch::kCalleeSaved[i]]);
      if (!slot) return std::nullopt;
      slots[i] = *slot;
    }
    return Pack(kStep, cfa.register_or_size,
                static_cast<uint64_t>(cfa.value / kWord), slots);
  }

  // The row of a function that realigns its stack, as GCC writes it. `read`
  // gives the bytes of an expression.
  template <class ReadBytes>
  static std::optional<UnwindRule> CompileRealigned(const CfiRow<Arch>& row,
                                                    uint64_t ra_register,
                                                    ReadBytes&& read) {
    if (ra_register != Arch::kRa || !HasPlainRegisters(row) ||
        row.cfa.kind != CfaRule::Kind::kExpression) {
      return std::nullopt;
    }
    const auto cfa = WordsBelowFp(read(row.cfa.expression()), /*is_read=*/true);
    const RegisterRule& fp = row.registers[Arch::kFp];
    if (!cfa || *cfa == 0 || fp.kind != RuleKind::kExpression ||
        WordsBelowFp(read(fp.expression()), /*is_read=*/false) != 0) {
      return std::nullopt;
    }
    Slots slots{};
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t number = Arch::kCalleeSaved[i];
      const RegisterRule& rule = row.registers[number];
      if (number == Arch::kFp) {
        slots[i] = *cfa;
      } else if (rule.kind == RuleKind::kExpression) {
        const auto slot =
            WordsBelowFp(read(rule.expression()), /*is_read=*/false);
        if (!slot || *slot == 0) return std::nullopt;
        slots[i] = *slot;
      } else if (rule.kind != RuleKind::kUnspecified &&
                 rule.kind != RuleKind::kSameValue) {
        return std::nullopt;
      }
    }
    return Pack(kRealigned, Arch::kFp, 0, slots);
  }

  // CFA = `base` (SP or FP) + `offset`, and of each of Arch::kCalleeSaved eight
  // bits, the first one's lowest: k if it is saved at CFA - 8 k, 0 if it is
  // kept. The zero word if it does not fit.
  static constexpr UnwindRule Step(size_t base, uint64_t offset,
                                   uint64_t slots) {
    if (offset % kWord != 0 || offset / kWord > kMaxCfaWords) return {};
    Slots list{};
    for (size_t i = 0; i < list.size(); ++i) list[i] = slots >> 8 * i & 0xff;
    return Pack(kStep, base, offset / kWord, list).value_or(UnwindRule());
  }

  // There is no row, and nothing was found without one.
  static constexpr UnwindRule NoWay() { return UnwindRule(kNoWay); }
  // What was found without a row: CFA = `base` + `offset`, and of each
  // callee-saved register k if it is saved at CFA - 8 k, 0 if it is kept.
  // nullopt if it does not fit.
  static std::optional<UnwindRule> Guess(size_t base, uint64_t offset,
                                         const Slots& slots) {
    if ((base != Arch::kSp && base != Arch::kFp) || offset % kWord != 0 ||
        offset / kWord > kMaxCfaWords) {
      return std::nullopt;
    }
    return Pack(kGuess, base, offset / kWord, slots);
  }

  // This step with CFA = `base` (SP or FP) + `offset`, as a guess. nullopt if
  // that does not fit. Only if is_step().
  std::optional<UnwindRule> WithCfa(size_t base, int64_t offset) const {
    if (offset < 0 || offset % kWord != 0 || offset / kWord > kMaxCfaWords) {
      return std::nullopt;
    }
    constexpr uint64_t kReplaced =
        kKindMask | uint64_t{kMaxCfaWords} << kCfaShift | kFpBit;
    uint64_t word = (word_ & ~kReplaced) | kGuess;
    if (base == Arch::kFp) word |= kFpBit;
    word |= static_cast<uint64_t>(offset / kWord) << kCfaShift;
    return UnwindRule(word);
  }

  constexpr bool is_no_way() const { return word_ == kNoWay; }
  constexpr bool is_guess() const {
    return kind() == kGuess || kind() == kNoWay;
  }
  constexpr bool is_root() const {
    return word_ == kRoot || word_ == kContextRoot;
  }
  // One of any stack, not of a context.
  constexpr bool is_plain_root() const { return word_ == kRoot; }
  constexpr bool is_context_root() const { return word_ == kContextRoot; }
  constexpr bool is_no_caller() const { return word_ == kNoCaller; }
  constexpr bool is_step() const { return kind() == kStep || kind() == kGuess; }
  constexpr bool is_realigned() const { return kind() == kRealigned; }
  // Below FP: where the CFA is. Only if is_realigned().
  constexpr uint8_t cfa_slot() const { return fp_slot(); }
  // A step that is no guess.
  constexpr bool is_plain() const { return (word_ & kStep) != 0; }
  // CFA minus FP or SP, in bytes. Only if is_step().
  constexpr uint64_t cfa_offset() const {
    return (word_ >> kCfaShift & kMaxCfaWords) * kWord;
  }
  // Is the CFA relative to FP? Only if is_step().
  constexpr bool uses_fp() const { return (word_ & kFpBit) != 0; }
  // k: the frame has saved its caller's FP at CFA - 8 k; 0: it keeps it. Only
  // if is_step().
  constexpr uint8_t fp_slot() const { return fp_rule() & kMaxFpSlot; }
  // As Frame::fp_rule.
  constexpr uint8_t fp_rule() const { return word_ >> kFpShift; }
  // What lies between the CFA and the lowest register that is saved, the return
  // address included. Only if is_step().
  constexpr uint64_t saved_bytes() const {
    uint64_t words = static_cast<uint64_t>(-Arch::kRaOffset / kWord);
    for (size_t i = 0; i < Arch::kCalleeSaved.size(); ++i) {
      if (slot(i) > words) words = slot(i);
    }
    return words * kWord;
  }

  // From a frame's registers to its caller's. `caller` is another object; it
  // holds nothing of use unless the result is kOk. A register whose slot cannot
  // be read is unknown, which matters only to a frame that needs it. Only if
  // is_step() or is_realigned().
  template <MemoryReader Memory>
  StepStatus Apply(const Registers& frame, Memory& memory,
                   Registers* caller) const {
    const size_t base = (word_ & kFpBit) != 0 ? Arch::kFp : Arch::kSp;
    if (!frame.Has(base)) return StepStatus::kNoRegister;
    uint64_t cfa = frame.Get(base) + cfa_offset();
    uint64_t saved_below = cfa;
    uint64_t value = 0;
    if (is_realigned()) {
      saved_below = frame.fp();
      if (!memory.Read(saved_below - cfa_slot() * kWord, kWord, &cfa)) {
        return StepStatus::kBadMemory;
      }
    }
    if (!memory.Read(cfa + static_cast<uint64_t>(Arch::kRaOffset), kWord,
                     &value)) {
      return StepStatus::kBadMemory;
    }
    // Register by register: copying all of them costs more than the rest.
    caller->ForgetAll();
    caller->Set(Arch::kRa, value);
    caller->Set(Arch::kSp, cfa);
    for (size_t i = 0; i < Arch::kCalleeSaved.size(); ++i) {
      const size_t number = Arch::kCalleeSaved[i];
      const bool is_at_fp = is_realigned() && number == Arch::kFp;
      const uint64_t words = is_at_fp ? 0 : slot(i);
      if (IsKept(number, words, frame, cfa)) {
        caller->CopyFrom(frame, number);
      } else if (memory.Read(saved_below - words * kWord, kWord, &value)) {
        caller->Set(number, value);
      }
    }
    return StepStatus::kOk;
  }

 private:
  // Kinds. Of all words only plain steps have bit 0.
  static constexpr uint64_t kStep = 1;
  static constexpr uint64_t kGuess = 2;
  static constexpr uint64_t kRealigned = 4;
  static constexpr uint64_t kRoot = 6;
  static constexpr uint64_t kContextRoot = 8;
  static constexpr uint64_t kNoCaller = 10;
  static constexpr uint64_t kNoWay = 12;
  static constexpr uint64_t kKindMask = 15;
  static constexpr unsigned kCfaShift = 18;
  static constexpr int64_t kMaxCfaWords = (1 << 18) - 1;
  static constexpr unsigned kSlotShift = 36;
  static constexpr unsigned kSlotBits = 4;
  static constexpr uint64_t kMaxSlot = (1 << kSlotBits) - 1;
  static constexpr unsigned kFpShift = 56;
  static constexpr uint64_t kMaxFpSlot = 127;
  static constexpr uint64_t kFpBit = uint64_t{1} << 63;
  static constexpr int64_t kWord = Arch::kWordSize;
  static constexpr size_t kFpIndex = 1;
  static_assert(Arch::kCalleeSaved[kFpIndex] == Arch::kFp);
  static_assert(kSlotShift + kSlotBits * (Arch::kCalleeSaved.size() - 1) <=
                kFpShift);

  explicit constexpr UnwindRule(uint64_t word) : word_(word) {}

  // Where the slot of the callee-saved register number `i` is, and how large it
  // may be.
  static constexpr unsigned ShiftOf(size_t i) {
    if (i == kFpIndex) return kFpShift;
    const size_t place = i < kFpIndex ? i : i - 1;
    return kSlotShift + kSlotBits * static_cast<unsigned>(place);
  }
  static constexpr uint64_t MaxSlotOf(size_t i) {
    return i == kFpIndex ? kMaxFpSlot : kMaxSlot;
  }
  constexpr uint64_t slot(size_t i) const {
    return word_ >> ShiftOf(i) & MaxSlotOf(i);
  }
  constexpr uint64_t kind() const { return word_ & kKindMask; }

  // nullopt: a slot does not fit.
  static constexpr std::optional<UnwindRule> Pack(uint64_t kind, uint64_t base,
                                                  uint64_t cfa_words,
                                                  const Slots& slots) {
    uint64_t word = kind | cfa_words << kCfaShift;
    if (base == Arch::kFp) word |= kFpBit;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] > MaxSlotOf(i)) return std::nullopt;
      word |= slots[i] << ShiftOf(i);
    }
    return UnwindRule(word);
  }

  static constexpr bool IsCalleeSaved(size_t number) {
    return (Arch::kCalleeSavedMask >> number & 1) != 0;
  }

  // As RowStep: a frame's own FP lies from SP on below the CFA; where it does
  // not, all was restored.
  bool IsKept(size_t number, uint64_t slot, const Registers& frame,
              uint64_t cfa) const {
    if (!is_realigned()) return slot == 0;
    const bool has_own_fp = frame.fp() >= frame.sp() && frame.fp() < cfa;
    return !has_own_fp || (slot == 0 && number != Arch::kFp);
  }

  // k of the expression "the word 8 k below FP", or the word there (`is_read`);
  // nullopt if it is another, or beyond the largest slot.
  static std::optional<uint64_t> WordsBelowFp(std::span<const uint8_t> code,
                                              bool is_read) {
    const size_t size = is_read ? 3 : 2;
    if (code.size() < size || code.size() > size + 1 ||
        code[0] != dwarf::DW_OP_breg0 + Arch::kFp ||
        (is_read && code.back() != dwarf::DW_OP_deref)) {
      return std::nullopt;
    }
    // SLEB128 of one or two bytes.
    const size_t bytes = code.size() - size + 1;
    int64_t offset = code[1] & 0x7f;
    if (bytes == 2) offset |= (code[2] & 0x7f) << 7;
    const int64_t sign = int64_t{1} << (7 * bytes - 1);
    offset = (offset ^ sign) - sign;
    const bool is_whole = (code[1] & 0x80) == (bytes == 2 ? 0x80 : 0) &&
                          (bytes == 1 || (code[2] & 0x80) == 0);
    if (!is_whole || offset > 0 || offset % kWord != 0 ||
        -offset / kWord > static_cast<int64_t>(kMaxFpSlot)) {
      return std::nullopt;
    }
    return static_cast<uint64_t>(-offset / kWord);
  }

  // RA below the CFA, SP by the CFA, and nothing known about what is lost.
  static bool HasPlainRegisters(const CfiRow<Arch>& row) {
    for (size_t i = 0; i < Arch::kRegisterCount; ++i) {
      const RegisterRule& rule = row.registers[i];
      if (i == Arch::kRa) {
        if (rule != RegisterRule{RuleKind::kOffset, 0, Arch::kRaOffset}) {
          return false;
        }
      } else if (!IsCalleeSaved(i) && rule.kind != RuleKind::kUnspecified &&
                 (i == Arch::kSp || rule.kind != RuleKind::kUndefined)) {
        return false;
      }
    }
    return true;
  }

  // 0: kept. k: saved at CFA - 8 k. nullopt: anything else.
  static std::optional<uint64_t> Slot(const RegisterRule& rule) {
    if (rule.kind == RuleKind::kUnspecified ||
        rule.kind == RuleKind::kSameValue) {
      return 0;
    }
    if (rule.kind != RuleKind::kOffset || rule.value >= 0 ||
        rule.value % kWord != 0) {
      return std::nullopt;
    }
    return static_cast<uint64_t>(-(rule.value / kWord));
  }

  uint64_t word_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_UNWIND_RULE_H_
