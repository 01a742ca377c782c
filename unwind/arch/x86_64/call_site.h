// Recognizes the call instruction that a return address must follow: what makes
// a guessed caller believable. Intel SDM vol. 2, CALL: E8 rel32, FF /2.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/call_site.h"

namespace unspool::unwind {

// The longest call without redundant prefixes: opcode, ModRM, SIB, disp32.
inline constexpr size_t kX86_64MaxCallSize = 7;

// `code` is what precedes `ra`, at best kX86_64MaxCallSize bytes of it; fewer
// find fewer calls. Async-signal-safe.
CallSite FindX86_64CallBefore(std::span<const uint8_t> code, uint64_t ra);

// Is `code` the start of a stub that only jumps elsewhere, as in a PLT: what a
// direct call to a shared function aims at? Async-signal-safe.
inline constexpr size_t kX86_64MaxJumpStubSize = 6;
bool IsX86_64JumpStub(std::span<const uint8_t> code);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_CALL_SITE_H_
