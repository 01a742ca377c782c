// Executes call-frame instructions (DWARF 5 §6.4.2) to a rule: the few of them
// that compilers write for nearly all functions, on a state of two words where
// CfiMachine has a row of 300 bytes.
//
// What it does not know, CfiMachine does: nothing is said then.

#ifndef UNSPOOL_UNWIND_RULE_PROGRAM_H_
#define UNSPOOL_UNWIND_RULE_PROGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/dwarf_constants.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// Bytes behind the code that are read, too; what they are does not matter.
inline constexpr size_t kRuleProgramMargin = 8;

// One run. Each instruction has a byte at least, so the size of the code bounds
// the time. All members are async-signal-safe.
template <class Arch>
class RuleProgram {
 public:
  using Rule = UnwindRule<Arch>;

  // What the instructions of a usual CIE leave: the state at a function's first
  // instruction.
  static Rule Initial() { return RuleProgram().rule(); }

  // `code` is that of an FDE whose CIE leaves Initial(), and has the code
  // alignment 1 and the data alignment -kWordSize. Behind it must be
  // kRuleProgramMargin readable bytes.
  explicit RuleProgram(std::span<const uint8_t> code)
      : next_(code.data()), end_(code.data() + code.size()) {}

  // The rule at `distance` bytes from the function's start; the zero word if it
  // cannot be told by these means. Once.
  Rule RunTo(uint64_t distance) {
    while (next_ < end_) {
      const uint8_t opcode = next_[0];
      const uint8_t operand = opcode & dwarf::DW_CFA_operand_mask;
      const uint8_t primary = opcode & dwarf::DW_CFA_primary_mask;
      const uint8_t second = next_[1];
      if (primary == dwarf::DW_CFA_advance_loc) {
        ++next_;
        location_ += operand;
        if (location_ > distance) return rule();
      } else if (primary == dwarf::DW_CFA_offset) {
        next_ += 2;
        SetSlot(operand, second);
      } else if (opcode == dwarf::DW_CFA_def_cfa_offset && second < 0x80) {
        next_ += 2;
        state_.cfa_offset = second;
      } else {
        ++next_;
        if (!ExecuteOther(opcode)) return {};
        if (location_ > distance) return rule();
      }
    }
    return rule();
  }

 private:
  static constexpr size_t kMaxRemembered = 8;
  static constexpr unsigned kSlotBits = 8;
  static constexpr uint64_t kMaxSlot = (1 << kSlotBits) - 1;
  // The place, in State::slots, of other registers.
  static constexpr uint8_t kOther = kSlotBits * Arch::kCalleeSaved.size();
  static_assert(kOther + kSlotBits <= 64);

  struct State {
    uint64_t slots = 0;  // as UnwindRule::Step() takes them, and kOther
    uint32_t cfa_offset = static_cast<uint32_t>(-Arch::kRaOffset);
    uint32_t cfa_register = Arch::kSp;
  };

  RuleProgram() : RuleProgram(std::span<const uint8_t>()) {}

  // False: it is not known here, or means something that a rule cannot say.
  bool ExecuteOther(uint8_t opcode) {
    if ((opcode & dwarf::DW_CFA_primary_mask) == dwarf::DW_CFA_restore) {
      const uint8_t place = kPlaces[opcode & dwarf::DW_CFA_operand_mask];
      state_.slots &= ~(kMaxSlot << place);
      return place != kOther;
    }
    switch (opcode) {
      case dwarf::DW_CFA_nop:
        return true;
      case dwarf::DW_CFA_advance_loc1:
        location_ += Fixed<uint8_t>();
        return true;
      case dwarf::DW_CFA_advance_loc2:
        location_ += Fixed<uint16_t>();
        return true;
      case dwarf::DW_CFA_advance_loc4:
        location_ += Fixed<uint32_t>();
        return true;
      case dwarf::DW_CFA_def_cfa:
        return SetCfaRegister() && SetCfaOffset();
      case dwarf::DW_CFA_def_cfa_register:
        return SetCfaRegister();
      case dwarf::DW_CFA_def_cfa_offset:
        return SetCfaOffset();
      case dwarf::DW_CFA_remember_state:
        if (remembered_count_ == kMaxRemembered) return false;
        remembered_[remembered_count_++] = state_;
        return true;
      case dwarf::DW_CFA_restore_state:
        if (remembered_count_ == 0) return false;
        state_ = remembered_[--remembered_count_];
        return true;
      default:
        return false;
    }
  }

  bool SetCfaRegister() {
    const uint8_t number = Fixed<uint8_t>();
    state_.cfa_register = number;
    return number == Arch::kSp || number == Arch::kFp;
  }
  // By a ULEB128 (DWARF 5 §7.6) of at most two bytes; larger frames are rare.
  bool SetCfaOffset() {
    const uint8_t low = Fixed<uint8_t>();
    const uint8_t high = low < 0x80 ? 0 : Fixed<uint8_t>();
    state_.cfa_offset = (low & 0x7f) | high << 7;
    return high < 0x80;
  }

  template <class T>
  T Fixed() {
    T value{};
    static_assert(1 + sizeof(value) <= kRuleProgramMargin);
    std::memcpy(&value, next_, sizeof(value));
    next_ += sizeof(value);
    return value;
  }

  // `slot` as the instruction has it: a ULEB128. If it has another byte, or is
  // 0, which would be kept for "not saved", then it is odd.
  void SetSlot(uint8_t number, uint8_t slot) {
    const uint8_t place = kPlaces[number];
    state_.slots = (state_.slots & ~(kMaxSlot << place)) | uint64_t{slot}
                                                               << place;
    odd_slots_ |= slot | (slot - 1u);
  }

  Rule rule() const {
    if (next_ > end_ || odd_slots_ >= 0x80 || state_.slots >> kOther != 0) {
      return {};
    }
    return Rule::Step(state_.cfa_register, state_.cfa_offset, state_.slots);
  }

  // Of each register number that an opcode can hold: the place of its slot.
  static constexpr std::array<uint8_t, dwarf::DW_CFA_operand_mask + 1> kPlaces =
      [] {
        std::array<uint8_t, dwarf::DW_CFA_operand_mask + 1> places{};
        for (uint8_t& place : places) place = kOther;
        for (size_t i = 0; i < Arch::kCalleeSaved.size(); ++i) {
          places[Arch::kCalleeSaved[i]] = static_cast<uint8_t>(kSlotBits * i);
        }
        return places;
      }();

  const uint8_t* next_;
  const uint8_t* end_;
  uint64_t location_ = 0;
  State state_;
  unsigned odd_slots_ = 0;
  size_t remembered_count_ = 0;
  union {  // not cleared
    std::array<State, kMaxRemembered> remembered_;
  };
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_RULE_PROGRAM_H_
