// Recognizes the call instruction that a return address must follow, and others
// that make a guessed caller believable. Intel SDM vol. 2, CALL: E8 rel32,
// FF /2; JMP: E9 rel32, FF /4; SUB: 83 /5 ib, 81 /5 id; RET: C3.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/arch/x86_64/decode.h"
#include "unwind/call_site.h"

namespace unspool::unwind {

// All members are async-signal-safe.
struct X86_64Code {
  // The longest call without redundant prefixes: opcode, ModRM, SIB, disp32.
  static constexpr size_t kMaxCallSize = 7;

  // `code` is what precedes `ra`, at best kMaxCallSize bytes of it; fewer find
  // fewer calls.
  static CallSite FindCallBefore(std::span<const uint8_t> code, uint64_t ra);

  static constexpr size_t kMaxInstructionSize = kX86_64MaxInstructionSize;
  static Instruction Decode(std::span<const uint8_t> code) {
    return DecodeX86_64(code);
  }

  // May one of the first `count` bytes of `code` begin a return, or a jump by a
  // word at a place relative to it? Of 0xff alone that says little:
  // displacements are often below 0.
  static bool MayReturn(std::span<const uint8_t> code, size_t count) {
    constexpr uint8_t kRet = 0xc3;
    constexpr uint8_t kGroup5 = 0xff;
    constexpr uint8_t kJumpByRip = 0x25;
    for (size_t i = 0; i < code.size() && i < count; ++i) {
      if (code[i] == kRet) return true;
      if (code[i] == kGroup5 &&
          (i + 1 == code.size() || code[i + 1] == kJumpByRip)) {
        return true;
      }
    }
    return false;
  }

  static constexpr size_t kMaxPrologueSize = 64;

  // What the first `sub $constant, %rsp` in `code` subtracts; 0: there is none.
  // Looks for its bytes, not for instructions: what they give is to be checked.
  static uint64_t FindStackAllocation(std::span<const uint8_t> code);

  // endbr64, bnd, and a jump.
  static constexpr size_t kMaxJumpStubSize = 11;

  // The stub that `code`, which is at `address`, begins with: what a direct
  // call of a shared function aims at.
  static JumpStub ParseJumpStub(std::span<const uint8_t> code,
                                uint64_t address);
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
