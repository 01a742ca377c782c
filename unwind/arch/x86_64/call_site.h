// Recognizes the call instruction that a return address must follow: what makes
// a guessed caller believable. Intel SDM vol. 2, CALL: E8 rel32, FF /2.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/call_site.h"

namespace unspool::unwind {

// All members are async-signal-safe.
struct X86_64Code {
  // The longest call without redundant prefixes: opcode, ModRM, SIB, disp32.
  static constexpr size_t kMaxCallSize = 7;

  // `code` is what precedes `ra`, at best kMaxCallSize bytes of it; fewer find
  // fewer calls.
  static CallSite FindCallBefore(std::span<const uint8_t> code, uint64_t ra);

  static constexpr size_t kMaxJumpStubSize = 6;

  // Is `code` the start of a stub that only jumps elsewhere, as in a PLT: what
  // a direct call to a shared function aims at?
  static bool IsJumpStub(std::span<const uint8_t> code);
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
