#include "unwind/arch/x86_64/signal_frame.h"

#include <cstring>

namespace unspool::unwind {
namespace {

constexpr uint16_t Offset(int greg) {
  return static_cast<uint16_t>(offsetof(ucontext_t, uc_mcontext.gregs) +
                               sizeof(greg_t) * static_cast<size_t>(greg));
}

}  // namespace

constinit const std::array<uint16_t, X86_64Registers::kCount>
    X86_64SignalFrame::kOffsets = {
        Offset(REG_RAX), Offset(REG_RDX), Offset(REG_RCX), Offset(REG_RBX),
        Offset(REG_RSI), Offset(REG_RDI), Offset(REG_RBP), Offset(REG_RSP),
        Offset(REG_R8),  Offset(REG_R9),  Offset(REG_R10), Offset(REG_R11),
        Offset(REG_R12), Offset(REG_R13), Offset(REG_R14), Offset(REG_R15),
        Offset(REG_RIP)};

bool X86_64SignalFrame::IsTrampoline(std::span<const uint8_t> code) {
  constexpr uint8_t kCode[kTrampolineSize] = {0x48, 0xc7, 0xc0, 0x0f, 0x00,
                                              0x00, 0x00, 0x0f, 0x05};
  return code.size() >= kTrampolineSize &&
         std::memcmp(code.data(), kCode, kTrampolineSize) == 0;
}

}  // namespace unspool::unwind
