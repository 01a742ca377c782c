// One row of the table that call-frame information encodes: how to find the
// caller's registers at a PC (DWARF 5 §6.4.1).

#ifndef UNSPOOL_UNWIND_CFI_ROW_H_
#define UNSPOOL_UNWIND_CFI_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "unwind/cfi_entry.h"

namespace unspool::unwind {

enum class RuleKind : uint8_t {
  kUnspecified,    // the ABI's default: kept, or not known
  kUndefined,      // not recoverable; for the RA: there is no caller
  kSameValue,      // kept
  kOffset,         // saved at CFA + offset
  kValOffset,      // is CFA + offset
  kRegister,       // is in register `register_or_size`
  kExpression,     // saved at the address that the expression gives
  kValExpression,  // is what the expression gives
};

struct RegisterRule {
  RuleKind kind = RuleKind::kUnspecified;
  // kRegister: the register. Expressions: their length in bytes.
  uint32_t register_or_size = 0;
  // kOffset, kValOffset: the offset. Expressions: the address of their first
  // byte, in the section that the row came from.
  int64_t value = 0;

  AddressRange expression() const {
    return {static_cast<uint64_t>(value), register_or_size};
  }
  bool operator==(const RegisterRule&) const = default;
};
static_assert(sizeof(RegisterRule) == 16);

// How to compute the CFA: register + offset, or the value of an expression.
struct CfaRule {
  enum class Kind : uint8_t { kNone, kRegisterOffset, kExpression };

  Kind kind = Kind::kNone;
  uint32_t register_or_size = 0;
  int64_t value = 0;

  AddressRange expression() const {
    return {static_cast<uint64_t>(value), register_or_size};
  }
  bool operator==(const CfaRule&) const = default;
};

// `pc` is the first PC that the row holds for. Rules of registers that the
// architecture's unwinding does not track (x86-64: all above rip) are dropped.
template <class Arch>
struct CfiRow {
  uint64_t pc = 0;
  CfaRule cfa;
  std::array<RegisterRule, Arch::kRegisterCount> registers{};
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_ROW_H_
