// Decodes x86-64 instructions: their size, and what Instruction tells of them.
// Intel SDM vol. 2, chapter 2 (formats), appendix A (opcodes).

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_DECODE_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/instruction.h"

namespace unspool::unwind {

inline constexpr size_t kX86_64MaxInstructionSize = 15;

// The instruction that `code` begins with. Of size 0 if it is cut off, not
// valid in 64-bit mode, or of an extension that is not known here (3DNow!, XOP,
// APX). Async-signal-safe.
Instruction DecodeX86_64(std::span<const uint8_t> code);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_DECODE_H_
