// prctl and syscall, in front of libc's for one purpose: a program is about to
// restrict its system calls, and we must know before. (glibc has no seccomp();
// libseccomp and programs without it take one of these two ways.)

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/sandbox.h"
#include "unwind/arch/arch.h"

namespace unspool::profiler {
namespace {

constexpr int kPrSetSeccomp = 22;  // PR_SET_SECCOMP; <sys/prctl.h> has prctl()

using Word = unsigned long;

constinit NextFunction<int (*)(int, Word, Word, Word, Word)> next_prctl(
    "prctl");
constinit NextFunction<long (*)(long, ...)> next_syscall("syscall");

[[gnu::constructor]] void FindNextFunctions() {
  next_prctl.get();
  next_syscall.get();
}

}  // namespace

// What syscall() jumps to, below: the next one's address.
extern "C" [[gnu::visibility("hidden")]] void* UnspoolNextSyscall() {
  return reinterpret_cast<void*>(next_syscall.get());
}

// syscall(SYS_seccomp, …), but for errno, which must be set after the filter is
// in place without a call of ours.
extern "C" [[gnu::visibility("hidden")]] long UnspoolSeccomp(long number,
                                                             Word operation,
                                                             Word flags,
                                                             Word arguments) {
  const bool restricts = operation == SECCOMP_SET_MODE_STRICT ||
                         operation == SECCOMP_SET_MODE_FILTER;
  collectors::OptionalCallSet before;
  if (restricts) {
    before = AdaptToRequest({static_cast<uint32_t>(operation),
                             reinterpret_cast<const void*>(arguments)});
  }
  const long result = unwind::RawSyscall(number, static_cast<long>(operation),
                                         static_cast<long>(flags),
                                         static_cast<long>(arguments));
  if (restricts && result < 0) collectors::SetForbiddenCalls(before);
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace unspool::profiler

UNSPOOL_EXPORT int prctl(int option, unsigned long a2, unsigned long a3,
                         unsigned long a4, unsigned long a5) {
  namespace profiler = unspool::profiler;
  const auto next = profiler::next_prctl.get();
  if (option != profiler::kPrSetSeccomp) return next(option, a2, a3, a4, a5);
  const unspool::collectors::SeccompRequest request = {
      a2 == SECCOMP_MODE_STRICT ? uint32_t{SECCOMP_SET_MODE_STRICT}
                                : uint32_t{SECCOMP_SET_MODE_FILTER},
      reinterpret_cast<const void*>(a3)};
  const unspool::collectors::OptionalCallSet before =
      profiler::AdaptToRequest(request);
  const int result = next(option, a2, a3, a4, a5);
  if (result != 0) unspool::collectors::SetForbiddenCalls(before);
  return result;
}

// A jump and no frame: system calls such as vfork return twice.
UNSPOOL_EXPORT __attribute__((naked)) long syscall(long, ...) {
  asm("cmpq %0, %%rdi\n\t"
      "je UnspoolSeccomp\n\t"
      "pushq %%rdi\n\tpushq %%rsi\n\tpushq %%rdx\n\t"
      ".cfi_adjust_cfa_offset 24\n\t"
      "pushq %%rcx\n\tpushq %%r8\n\tpushq %%r9\n\t"
      ".cfi_adjust_cfa_offset 24\n\t"
      "subq $8, %%rsp\n\t"
      ".cfi_adjust_cfa_offset 8\n\t"
      "call UnspoolNextSyscall\n\t"
      "addq $8, %%rsp\n\t"
      ".cfi_adjust_cfa_offset -8\n\t"
      "popq %%r9\n\tpopq %%r8\n\tpopq %%rcx\n\t"
      ".cfi_adjust_cfa_offset -24\n\t"
      "popq %%rdx\n\tpopq %%rsi\n\tpopq %%rdi\n\t"
      ".cfi_adjust_cfa_offset -24\n\t"
      "jmpq *%%rax"
      :
      : "i"(SYS_seccomp));
}
