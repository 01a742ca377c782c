// What an x86-64 instruction does to the flow of control, as far as a shadow
// call stack needs to know. Intel SDM vol. 2: CALL E8, FF /2; RET C2, C3; JMP
// FF /4; SYSCALL 0F 05.

#ifndef UNSPOOL_TESTS_ORACLE_INSTRUCTION_H_
#define UNSPOOL_TESTS_ORACLE_INSTRUCTION_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::oracle {

enum class Flow : uint8_t {
  kOther,  // straight on, or a direct jump
  kCall,
  kReturn,
  kIndirectJump,
  kSystemCall,
};

inline constexpr size_t kMaxInstructionSize = 15;

// `code` begins with the instruction. A call of the instruction behind it, with
// which position-dependent code reads its own address, is kOther: nothing
// returns from it.
Flow DecodeFlow(std::span<const uint8_t> code);

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_INSTRUCTION_H_
