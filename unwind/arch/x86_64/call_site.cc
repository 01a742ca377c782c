#include "unwind/arch/x86_64/call_site.h"

#include <cstring>

namespace unspool::unwind {
namespace {

constexpr size_t kDirectCallSize = 5;

// Length of `FF /2` with the operand that ModRM (and SIB) describe; 0 if it is
// no such call. SDM vol. 2, tables 2-2 and 2-3.
size_t IndirectCallSize(uint8_t opcode, uint8_t modrm, uint8_t sib) {
  constexpr uint8_t kOpcode = 0xff;
  constexpr uint8_t kCallExtension = 2;
  if (opcode != kOpcode || (modrm >> 3 & 7) != kCallExtension) return 0;
  const uint8_t mod = modrm >> 6;
  const uint8_t rm = modrm & 7;
  if (mod == 3) return 2;
  const bool has_sib = rm == 4;
  const size_t size = has_sib ? 3 : 2;
  if (mod == 1) return size + 1;
  if (mod == 2) return size + 4;
  const bool has_disp32 = rm == 5 || (has_sib && (sib & 7) == 5);
  return has_disp32 ? size + 4 : size;
}

}  // namespace

CallSite X86_64Code::FindCallBefore(std::span<const uint8_t> code,
                                    uint64_t ra) {
  const size_t size = code.size();
  if (size >= kDirectCallSize && code[size - kDirectCallSize] == 0xe8) {
    int32_t displacement = 0;
    std::memcpy(&displacement, &code[size - 4], sizeof(displacement));
    return {CallSite::Kind::kDirect, ra + static_cast<uint64_t>(displacement)};
  }
  for (size_t length = 2; length <= kMaxCallSize; ++length) {
    if (length > size) break;
    const auto call = code.last(length);
    const uint8_t sib = length > 2 ? call[2] : 0;
    if (IndirectCallSize(call[0], call[1], sib) == length) {
      return {CallSite::Kind::kIndirect, 0};
    }
  }
  return {};
}

bool X86_64Code::IsJumpStub(std::span<const uint8_t> code) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (code.size() < 2) return false;
  if (code[0] == 0xff && code[1] == 0x25) return true;  // jmp *disp32(%rip)
  if (code[0] == 0xe9) return true;                     // jmp rel32
  if (code.size() < kMaxJumpStubSize) return false;
  // .plt.sec begins with endbr64, then jmp, with or without the bnd prefix.
  if (std::memcmp(code.data(), kEndbr64, sizeof(kEndbr64)) != 0) return false;
  return (code[4] == 0xff && code[5] == 0x25) ||
         (code[4] == 0xf2 && code[5] == 0xff);
}

}  // namespace unspool::unwind
