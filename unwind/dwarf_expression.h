// Evaluates the DWARF expressions that call-frame information may use: DWARF 5
// §2.5.1 with the restrictions of §6.4.2.
//
// Location descriptions (registers as places, pieces, implicit values), typed
// operations, calls, TLS, address spaces and entry values have no meaning in
// CFI, and are errors. Fixed stack, limit on steps: endless loops end.

#ifndef UNSPOOL_UNWIND_DWARF_EXPRESSION_H_
#define UNSPOOL_UNWIND_DWARF_EXPRESSION_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/byte_reader.h"
#include "unwind/dwarf_constants.h"

namespace unspool::unwind {

// A stack's memory. Read(address, size, &value) reads `size` (1, 2, 4 or 8)
// bytes as an unsigned number; false if they are not readable. Never faults.
template <class T>
concept MemoryReader = requires(T memory, uint64_t address, size_t size,
                                uint64_t* value) {
  { memory.Read(address, size, value) } -> std::same_as<bool>;
};

// kNoRegister: it depends on a register whose value is not known.
enum class StepStatus : uint8_t { kOk, kBadMemory, kBadCfi, kNoRegister };

// One evaluation. All members are async-signal-safe.
template <class Registers, MemoryReader Memory>
class DwarfExpression {
 public:
  // `bias` is added to DW_OP_addr (CfiSection::bias).
  DwarfExpression(const Registers& registers, Memory& memory, uint64_t bias)
      : registers_(registers), memory_(memory), bias_(bias) {}

  // Evaluates `code`, with `initial` on the stack if there is one (the CFA, for
  // a register's rule); *result is what is then on top.
  StepStatus Evaluate(std::span<const uint8_t> code,
                      std::optional<uint64_t> initial, uint64_t* result) {
    size_ = 0;
    status_ = StepStatus::kOk;
    if (initial) Push(*initial);
    ByteReader reader(code, 0);
    for (size_t step = 0; !reader.empty(); ++step) {
      if (step == kMaxSteps) return StepStatus::kBadCfi;
      Execute(reader);
      if (!reader.ok()) return StepStatus::kBadCfi;
      if (status_ != StepStatus::kOk) return status_;
    }
    *result = Pop();
    return status_;
  }

 private:
  static constexpr size_t kMaxStack = 64;
  static constexpr size_t kMaxSteps = 1000;

  void Fail(StepStatus status) {
    if (status_ == StepStatus::kOk) status_ = status;
  }
  void Bad() { Fail(StepStatus::kBadCfi); }

  void Push(uint64_t value) {
    if (size_ == kMaxStack) return Bad();
    stack_[size_++] = value;
  }
  void PushSigned(int64_t value) { Push(static_cast<uint64_t>(value)); }
  uint64_t Pop() {
    if (size_ == 0) {
      Bad();
      return 0;
    }
    return stack_[--size_];
  }
  void Pick(uint64_t depth) {
    if (depth >= size_) return Bad();
    Push(stack_[size_ - 1 - depth]);
  }
  void PushRegister(uint64_t number, int64_t offset) {
    if (!registers_.Has(number)) return Fail(StepStatus::kNoRegister);
    Push(registers_.Get(number) + static_cast<uint64_t>(offset));
  }
  void Dereference(uint64_t size) {
    if (size != 1 && size != 2 && size != 4 && size != 8) return Bad();
    const uint64_t address = Pop();
    uint64_t value = 0;
    if (status_ != StepStatus::kOk) return;
    if (!memory_.Read(address, size, &value)) Fail(StepStatus::kBadMemory);
    Push(value);
  }

  void Execute(ByteReader& reader);
  bool ExecuteConstant(uint8_t op, ByteReader& reader);
  bool ExecuteStack(uint8_t op, ByteReader& reader);
  bool ExecuteUnary(uint8_t op, ByteReader& reader);
  bool ExecuteBinary(uint8_t op);
  void Divide(uint8_t op, uint64_t a, uint64_t b);
  static bool Compare(uint8_t op, int64_t a, int64_t b);
  uint64_t Combine(uint8_t op, uint64_t a, uint64_t b);
  bool ExecuteFlow(uint8_t op, ByteReader& reader);

  const Registers& registers_;
  Memory& memory_;
  uint64_t bias_;
  StepStatus status_ = StepStatus::kOk;
  size_t size_ = 0;
  std::array<uint64_t, kMaxStack> stack_;
};

template <class Registers, MemoryReader Memory>
void DwarfExpression<Registers, Memory>::Execute(ByteReader& reader) {
  using namespace dwarf;
  const uint8_t op = reader.U8();
  if (op >= DW_OP_lit0 && op <= DW_OP_lit31) return Push(op - DW_OP_lit0);
  if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
    return PushRegister(op - DW_OP_breg0, reader.Sleb128());
  }
  const bool known = ExecuteConstant(op, reader) || ExecuteStack(op, reader) ||
                     ExecuteUnary(op, reader) || ExecuteFlow(op, reader) ||
                     ExecuteBinary(op);
  if (!known) Bad();
}

// DWARF 5 §2.5.1.1 and §2.5.1.2.
template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::ExecuteConstant(uint8_t op,
                                                         ByteReader& reader) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_addr:
      Push(reader.U64() + bias_);
      return true;
    case DW_OP_const1u:
      Push(reader.U8());
      return true;
    case DW_OP_const1s:
      PushSigned(reader.S8());
      return true;
    case DW_OP_const2u:
      Push(reader.U16());
      return true;
    case DW_OP_const2s:
      PushSigned(reader.S16());
      return true;
    case DW_OP_const4u:
      Push(reader.U32());
      return true;
    case DW_OP_const4s:
      PushSigned(reader.S32());
      return true;
    case DW_OP_const8u:
    case DW_OP_const8s:
      Push(reader.U64());
      return true;
    case DW_OP_constu:
      Push(reader.Uleb128());
      return true;
    case DW_OP_consts:
      PushSigned(reader.Sleb128());
      return true;
    case DW_OP_bregx: {
      const uint64_t number = reader.Uleb128();
      PushRegister(number, reader.Sleb128());
      return true;
    }
    default:
      return false;
  }
}

// DWARF 5 §2.5.1.3.
template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::ExecuteStack(uint8_t op,
                                                      ByteReader& reader) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_dup:
      Pick(0);
      return true;
    case DW_OP_drop:
      Pop();
      return true;
    case DW_OP_over:
      Pick(1);
      return true;
    case DW_OP_pick:
      Pick(reader.U8());
      return true;
    case DW_OP_swap: {
      const uint64_t top = Pop();
      const uint64_t second = Pop();
      Push(top);
      Push(second);
      return true;
    }
    case DW_OP_rot: {
      const uint64_t first = Pop();
      const uint64_t second = Pop();
      const uint64_t third = Pop();
      Push(first);
      Push(third);
      Push(second);
      return true;
    }
    case DW_OP_deref:
      Dereference(8);
      return true;
    case DW_OP_deref_size:
      Dereference(reader.U8());
      return true;
    default:
      return false;
  }
}

// DWARF 5 §2.5.1.4, those with one operand on the stack.
template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::ExecuteUnary(uint8_t op,
                                                      ByteReader& reader) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_abs: {
      const uint64_t value = Pop();
      Push(static_cast<int64_t>(value) < 0 ? 0 - value : value);
      return true;
    }
    case DW_OP_neg:
      Push(0 - Pop());
      return true;
    case DW_OP_not:
      Push(~Pop());
      return true;
    case DW_OP_plus_uconst: {
      const uint64_t addend = reader.Uleb128();
      Push(Pop() + addend);
      return true;
    }
    default:
      return false;
  }
}

// DWARF 5 §2.5.1.5 and §2.5.1.7.
template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::ExecuteFlow(uint8_t op,
                                                     ByteReader& reader) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_nop:
      return true;
    case DW_OP_skip:
      reader.Jump(reader.S16());
      return true;
    case DW_OP_bra: {
      const int64_t delta = reader.S16();
      if (Pop() != 0) reader.Jump(delta);
      return true;
    }
    default:
      return false;
  }
}

// DWARF 5 §2.5.1.4 and §2.5.1.5, those with two operands on the stack.
template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::ExecuteBinary(uint8_t op) {
  using namespace dwarf;
  if (op < DW_OP_and || op > DW_OP_ne) return false;
  const uint64_t b = Pop();
  const uint64_t a = Pop();
  if (op == DW_OP_div || op == DW_OP_mod) {
    Divide(op, a, b);
  } else if (op >= DW_OP_eq) {
    Push(Compare(op, static_cast<int64_t>(a), static_cast<int64_t>(b)));
  } else {
    Push(Combine(op, a, b));
  }
  return true;
}

// Division is signed, modulo unsigned. The smallest number by -1 wraps around.
template <class Registers, MemoryReader Memory>
void DwarfExpression<Registers, Memory>::Divide(uint8_t op, uint64_t a,
                                                uint64_t b) {
  if (b == 0) return Bad();
  if (op == dwarf::DW_OP_mod) return Push(a % b);
  if (b == ~uint64_t{0}) return Push(0 - a);
  PushSigned(static_cast<int64_t>(a) / static_cast<int64_t>(b));
}

template <class Registers, MemoryReader Memory>
bool DwarfExpression<Registers, Memory>::Compare(uint8_t op, int64_t a,
                                                 int64_t b) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_eq:
      return a == b;
    case DW_OP_ge:
      return a >= b;
    case DW_OP_gt:
      return a > b;
    case DW_OP_le:
      return a <= b;
    case DW_OP_lt:
      return a < b;
    default:
      return a != b;
  }
}

// Shifts by 64 and more leave nothing, or the sign.
template <class Registers, MemoryReader Memory>
uint64_t DwarfExpression<Registers, Memory>::Combine(uint8_t op, uint64_t a,
                                                     uint64_t b) {
  using namespace dwarf;
  switch (op) {
    case DW_OP_and:
      return a & b;
    case DW_OP_or:
      return a | b;
    case DW_OP_xor:
      return a ^ b;
    case DW_OP_plus:
      return a + b;
    case DW_OP_minus:
      return a - b;
    case DW_OP_mul:
      return a * b;
    case DW_OP_shl:
      return b < 64 ? a << b : 0;
    case DW_OP_shr:
      return b < 64 ? a >> b : 0;
    case DW_OP_shra:
      return static_cast<uint64_t>(static_cast<int64_t>(a) >>
                                   (b < 64 ? b : 63));
    default:  // between the operations with two operands: not one of them
      Bad();
      return 0;
  }
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_DWARF_EXPRESSION_H_
