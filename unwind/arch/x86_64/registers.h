// The registers of x86-64 that unwinding knows, under their DWARF numbers:
// System V psABI, AMD64 supplement, §3.6.2, figure 3.36.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_REGISTERS_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_REGISTERS_H_

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

enum class X86_64Register : uint8_t {
  kRax = 0,
  kRdx = 1,
  kRcx = 2,
  kRbx = 3,
  kRsi = 4,
  kRdi = 5,
  kRbp = 6,
  kRsp = 7,
  kR8 = 8,
  kR9 = 9,
  kR10 = 10,
  kR11 = 11,
  kR12 = 12,
  kR13 = 13,
  kR14 = 14,
  kR15 = 15,
  kRip = 16,
};

// Values of a frame's registers, as far as they are known. All members are
// async-signal-safe.
class X86_64Registers {
 public:
  static constexpr size_t kCount = 17;

  // All registers unknown.
  constexpr X86_64Registers() = default;

  // Those of the instruction that a signal interrupted; all known.
  static X86_64Registers FromUcontext(const ucontext_t& context);

  // Those of the point where it is called: PC, SP and what functions must
  // preserve; the rest is unknown.
  [[gnu::always_inline]] static X86_64Registers Here() {
    X86_64Registers registers;
    asm volatile(
        "movq %%rbx, 3*8(%0)\n\t"
        "movq %%rbp, 6*8(%0)\n\t"
        "movq %%rsp, 7*8(%0)\n\t"
        "movq %%r12, 12*8(%0)\n\t"
        "movq %%r13, 13*8(%0)\n\t"
        "movq %%r14, 14*8(%0)\n\t"
        "movq %%r15, 15*8(%0)\n\t"
        "leaq 0(%%rip), %%rax\n\t"
        "movq %%rax, 16*8(%0)"
        :
        : "r"(registers.values_.data())
        : "rax", "memory");
    registers.known_ = 1 << 3 | 1 << 6 | 1 << 7 | 0x1f << 12;
    return registers;
  }

  bool Has(size_t number) const {
    return number < kCount && (known_ >> number & 1) != 0;
  }
  // 0 if unknown.
  uint64_t Get(size_t number) const {
    return Has(number) ? values_[number] : 0;
  }
  void Set(size_t number, uint64_t value) {
    if (number >= kCount) return;
    values_[number] = value;
    known_ |= uint32_t{1} << number;
  }
  void Forget(size_t number) {
    if (number < kCount) known_ &= ~(uint32_t{1} << number);
  }
  // Forgets all that are not in `mask` (bit n for register n).
  void Keep(uint32_t mask) { known_ &= mask; }
  void ForgetAll() { known_ = 0; }
  // Makes `number` what it is in `other`: a value, or unknown.
  void CopyFrom(const X86_64Registers& other, size_t number) {
    values_[number] = other.values_[number];
    const uint32_t bit = uint32_t{1} << number;
    known_ = (known_ & ~bit) | (other.known_ & bit);
  }

  bool Has(X86_64Register r) const { return Has(static_cast<size_t>(r)); }
  uint64_t Get(X86_64Register r) const { return Get(static_cast<size_t>(r)); }
  void Set(X86_64Register r, uint64_t value) {
    Set(static_cast<size_t>(r), value);
  }

  uint64_t pc() const { return Get(X86_64Register::kRip); }
  uint64_t sp() const { return Get(X86_64Register::kRsp); }
  uint64_t fp() const { return Get(X86_64Register::kRbp); }

 private:
  std::array<uint64_t, kCount> values_{};
  uint32_t known_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_REGISTERS_H_
