// The architecture that this build unwinds itself on. The only #if on the CPU.

#ifndef UNSPOOL_UNWIND_ARCH_ARCH_H_
#define UNSPOOL_UNWIND_ARCH_ARCH_H_

#if defined(__x86_64__)
#include "unwind/arch/x86_64/arch.h"
#include "unwind/arch/x86_64/raw_syscall.h"
namespace unspool::unwind {
using NativeArch = X86_64;
}  // namespace unspool::unwind
#else
#error "unspool unwinds x86-64 only"
#endif

namespace unspool::unwind {
using Registers = NativeArch::Registers;
}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_ARCH_H_
