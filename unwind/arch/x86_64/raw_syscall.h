// System calls without libc: no errno, no PLT, no cancellation point. psABI,
// AMD64 supplement, §A.2.1.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_RAW_SYSCALL_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_RAW_SYSCALL_H_

namespace unspool::unwind {

// Returns what the kernel does: -errno on failure. Async-signal-safe.
inline long RawSyscall(long number, long a1 = 0, long a2 = 0, long a3 = 0,
                       long a4 = 0, long a5 = 0, long a6 = 0) {
  register long r10 asm("r10") = a4;
  register long r8 asm("r8") = a5;
  register long r9 asm("r9") = a6;
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a1), "S"(a2), "d"(a3), "r"(r10), "r"(r8),
                 "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_RAW_SYSCALL_H_
