// The frame that the kernel puts on the stack to deliver a signal: Linux
// arch/x86/include/uapi/asm/ucontext.h, and the code it returns through.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_SIGNAL_FRAME_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_SIGNAL_FRAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/arch/x86_64/registers.h"

namespace unspool::unwind {

struct X86_64SignalFrame {
  // mov $__NR_rt_sigreturn,%rax; syscall: what a signal handler returns to.
  // Known by its bytes where its FDE is missing, as in musl.
  static constexpr size_t kTrampolineSize = 9;
  static bool IsTrampoline(std::span<const uint8_t> code);

  // Recovers the interrupted registers; `sp` is that of the trampoline, which
  // points to the ucontext_t. `read(address, uint64_t*)` returns false if it
  // cannot. False if memory is not readable. Async-signal-safe if `read` is.
  template <class ReadWord>
  static bool Restore(uint64_t sp, ReadWord&& read, X86_64Registers* out) {
    X86_64Registers registers;
    for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
      uint64_t value = 0;
      if (!read(sp + kOffsets[i], &value)) return false;
      registers.Set(i, value);
    }
    *out = registers;
    return true;
  }

 private:
  // Of each DWARF register in ucontext_t.
  static const std::array<uint16_t, X86_64Registers::kCount> kOffsets;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_SIGNAL_FRAME_H_
