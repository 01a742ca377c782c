// A machine instruction, as far as unwinding cares: what it does to the stack
// pointer, to values that it moves, and to the flow of control.

#ifndef UNSPOOL_UNWIND_INSTRUCTION_H_
#define UNSPOOL_UNWIND_INSTRUCTION_H_

#include <cstdint>

namespace unspool::unwind {

struct Instruction {
  enum class Kind : uint8_t {
    kUnknown,  // not decoded; or it does to SP what no other kind says
    kOther,    // changes nothing but the registers in `writes`
    kPush,     // `reg`, or a value that is not known (kNoRegister)
    kPop,      // to `reg`, or to memory (kNoRegister)
    kAdd,      // reg += value
    kAnd,      // reg &= value
    kMove,     // reg = base
    kAddress,  // reg = base + value
    kLoad,     // reg = the word at base + value
    kStore,    // the word at base + value = reg
    kLeave,    // SP = FP; pop FP
    kReturn,
    kCall,
    kJump,            // to its end + value
    kBranch,          // there, or on
    kJumpByMemory,    // to what the word at its end + value says
    kJumpToRegister,  // to what `reg` says
    kTrap,            // does not go on
  };
  static constexpr uint8_t kNoRegister = 0xff;

  Kind kind = Kind::kUnknown;
  uint8_t size = 0;  // in bytes; 0: not decoded
  uint8_t reg = kNoRegister;
  uint8_t base = kNoRegister;
  int64_t value = 0;
  // Registers (bit n for DWARF's number n) that it changes in a way that the
  // kind does not say.
  uint32_t writes = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_INSTRUCTION_H_
