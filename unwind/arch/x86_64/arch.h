// What the generic code asks an architecture for; x86-64's answers. System V
// psABI, AMD64 supplement, §3.2 (calling sequence) and §3.6 (DWARF numbers).

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_ARCH_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_ARCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "unwind/arch/x86_64/call_site.h"
#include "unwind/arch/x86_64/registers.h"
#include "unwind/arch/x86_64/signal_frame.h"

namespace unspool::unwind {

struct X86_64 {
  using Registers = X86_64Registers;

  static constexpr size_t kRegisterCount = Registers::kCount;
  static constexpr size_t kFp = static_cast<size_t>(X86_64Register::kRbp);
  static constexpr size_t kSp = static_cast<size_t>(X86_64Register::kRsp);
  // The column of the return address, which is also where the PC is.
  static constexpr size_t kRa = static_cast<size_t>(X86_64Register::kRip);

  static constexpr size_t kWordSize = 8;
  // A call leaves the return address in the word below the CFA.
  static constexpr int64_t kRaOffset = -8;
  // At a function's entry; inside, SP is a multiple of a word.
  static constexpr uint64_t kSpAlignment = 8;
  // Of SP before a call, §3.2.2.
  static constexpr uint64_t kCfaAlignment = 16;

  // What a function must preserve (§3.2.1) besides SP, which the CFA gives:
  // kept unless a rule says otherwise. All others are lost unless a rule says
  // otherwise.
  static constexpr std::array<uint8_t, 6> kCalleeSaved = {3, 6, 12, 13, 14, 15};
  static constexpr uint32_t kCalleeSavedMask =
      1 << 3 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;

  // Where a landing pad finds the exception and the selector (Itanium C++ ABI,
  // Exception Handling, §2.5.3): rax and rdx.
  static constexpr std::array<uint8_t, 2> kLandingRegisters = {0, 1};

  // Where Linux expects the arguments of system calls (appendix A.2.1).
  static constexpr std::array<uint8_t, 6> kSyscallArguments = {5,  4, 1,
                                                               10, 8, 9};

  using Code = X86_64Code;
  using SignalFrame = X86_64SignalFrame;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_ARCH_H_
