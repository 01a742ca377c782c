// Applies a CFI row in full: from a frame's registers to its caller's
// (DWARF 5 §6.4.3). The slow path, for all rows that are no UnwindRule.

#ifndef UNSPOOL_UNWIND_ROW_STEP_H_
#define UNSPOOL_UNWIND_ROW_STEP_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "unwind/byte_source.h"
#include "unwind/cfi_row.h"
#include "unwind/dwarf_constants.h"
#include "unwind/dwarf_expression.h"

namespace unspool::unwind {

// Every rule reads the registers of the frame, none sees what another rule has
// recovered. All members are async-signal-safe.
//
// GCC's CFI for the last instructions of a function with a realigned stack
// still looks for registers relative to FP, where FP, already restored, is the
// caller's. A frame's own FP lies from SP on below the CFA; where it does not,
// such registers are restored, too, and kept.
template <class Arch, MemoryReader Memory, ByteSource Source>
class RowStep {
 public:
  using Registers = typename Arch::Registers;

  // `source` has the bytes of the row's expressions; `bias` is that of their
  // section.
  RowStep(const Registers& frame, Memory& memory, Source& source, uint64_t bias)
      : frame_(frame), memory_(memory), source_(source), bias_(bias) {}

  // Fills *caller, another object than the frame's; it holds nothing of use
  // unless the result is kOk. The caller's PC is what the rule of `ra_register`
  // gives, which must not be kUndefined: the walk ends there, by its own rules.
  // Other registers whose rule cannot be followed are unknown, which matters
  // only to a frame that needs them.
  StepStatus Apply(const CfiRow<Arch>& row, uint64_t ra_register,
                   Registers* caller) {
    if (ra_register >= Arch::kRegisterCount) return StepStatus::kBadCfi;
    StepStatus status = ComputeCfa(row.cfa);
    if (status != StepStatus::kOk) return status;
    *caller = Registers();
    for (size_t i = 0; i < Arch::kRegisterCount; ++i) {
      status = Recover(row.registers[i], i, caller);
      if (status != StepStatus::kOk && i == ra_register) return status;
    }
    const RegisterRule& ra = row.registers[ra_register];
    // A return address that was kept would be this frame's own PC.
    if (ra.kind == RuleKind::kUnspecified || ra.kind == RuleKind::kSameValue ||
        !caller->Has(ra_register)) {
      return StepStatus::kBadCfi;
    }
    caller->Set(Arch::kRa, caller->Get(ra_register));
    return StepStatus::kOk;
  }

 private:
  StepStatus ComputeCfa(const CfaRule& rule) {
    switch (rule.kind) {
      case CfaRule::Kind::kRegisterOffset:
        if (!frame_.Has(rule.register_or_size)) return StepStatus::kNoRegister;
        cfa_ = frame_.Get(rule.register_or_size) +
               static_cast<uint64_t>(rule.value);
        return StepStatus::kOk;
      case CfaRule::Kind::kExpression:
        return Evaluate(rule.expression(), std::nullopt, &cfa_);
      case CfaRule::Kind::kNone:
        break;
    }
    return StepStatus::kBadCfi;
  }

  StepStatus Recover(const RegisterRule& rule, size_t number,
                     Registers* caller) {
    const uint64_t cfa_based = cfa_ + static_cast<uint64_t>(rule.value);
    uint64_t value = 0;
    switch (rule.kind) {
      case RuleKind::kUnspecified:
        if (number == Arch::kSp) {
          caller->Set(number, cfa_);
        } else if ((Arch::kCalleeSavedMask >> number & 1) != 0) {
          Keep(number, number, caller);
        }
        return StepStatus::kOk;
      case RuleKind::kUndefined:
        return StepStatus::kOk;
      case RuleKind::kSameValue:
        Keep(number, number, caller);
        return StepStatus::kOk;
      case RuleKind::kOffset:
        return Load(cfa_based, number, caller);
      case RuleKind::kValOffset:
        caller->Set(number, cfa_based);
        return StepStatus::kOk;
      case RuleKind::kRegister:
        Keep(rule.register_or_size, number, caller);
        return StepStatus::kOk;
      case RuleKind::kExpression:
      case RuleKind::kValExpression: {
        if (IsRelativeToFp(rule.expression()) && !HasOwnFp()) {
          Keep(number, number, caller);
          return StepStatus::kOk;
        }
        const StepStatus status = Evaluate(rule.expression(), cfa_, &value);
        if (status != StepStatus::kOk) return status;
        if (rule.kind == RuleKind::kExpression) {
          return Load(value, number, caller);
        }
        caller->Set(number, value);
        return StepStatus::kOk;
      }
    }
    return StepStatus::kBadCfi;
  }

  bool HasOwnFp() const {
    return frame_.Has(Arch::kFp) && frame_.fp() >= frame_.sp() &&
           frame_.fp() < cfa_;
  }

  // Is it DW_OP_breg of FP and an offset, with nothing before?
  bool IsRelativeToFp(AddressRange code) const {
    const auto bytes = source_.Window(code.address, code.size);
    return !bytes.empty() && bytes[0] == dwarf::DW_OP_breg0 + Arch::kFp;
  }

  // The caller's register `to` is the frame's `from`; unknown stays unknown.
  void Keep(size_t from, size_t to, Registers* caller) {
    if (frame_.Has(from)) caller->Set(to, frame_.Get(from));
  }

  StepStatus Load(uint64_t address, size_t number, Registers* caller) {
    uint64_t value = 0;
    if (!memory_.Read(address, Arch::kWordSize, &value)) {
      return StepStatus::kBadMemory;
    }
    caller->Set(number, value);
    return StepStatus::kOk;
  }

  StepStatus Evaluate(AddressRange code, std::optional<uint64_t> initial,
                      uint64_t* result) {
    const auto bytes = source_.Window(code.address, code.size);
    if (bytes.size() != code.size) return StepStatus::kBadCfi;
    DwarfExpression<Registers, Memory> expression(frame_, memory_, bias_);
    return expression.Evaluate(bytes, initial, result);
  }

  const Registers& frame_;
  Memory& memory_;
  Source& source_;
  uint64_t bias_;
  uint64_t cfa_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ROW_STEP_H_
