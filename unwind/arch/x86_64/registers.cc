#include "unwind/arch/x86_64/registers.h"

namespace unspool::unwind {
namespace {

// Where ucontext_t keeps each DWARF register.
constexpr std::array<int, X86_64Registers::kCount> kGregs = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

}  // namespace

X86_64Registers X86_64Registers::FromUcontext(const ucontext_t& context) {
  X86_64Registers registers;
  // All at once: bit by bit, each would wait for the one before.
  registers.known_ = (uint32_t{1} << kCount) - 1;
#pragma GCC unroll 17
  for (size_t i = 0; i < kCount; ++i) {
    registers.values_[i] =
        static_cast<uint64_t>(context.uc_mcontext.gregs[kGregs[i]]);
  }
  return registers;
}

}  // namespace unspool::unwind
