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
    if (IndirectCallSize(call[0], call[1], sib) != length) continue;
    CallSite site = {CallSite::Kind::kIndirect, 0};
    constexpr uint8_t kRipRelative = 0x15;
    if (call[1] == kRipRelative) {
      int32_t displacement = 0;
      std::memcpy(&displacement, &call[2], sizeof(displacement));
      site.target = ra + static_cast<uint64_t>(displacement);
    }
    return site;
  }
  return {};
}

uint64_t X86_64Code::FindStackAllocation(std::span<const uint8_t> code) {
  constexpr uint8_t kRexW = 0x48;
  constexpr uint8_t kModRm = 0xec;  // register, /5, rsp
  for (; code.size() >= 4; code = code.subspan(1)) {
    if (code[0] != kRexW || code[2] != kModRm) continue;
    if (code[1] == 0x83 && code[3] < 0x80) return code[3];
    int32_t amount = 0;
    if (code[1] != 0x81 || code.size() < 3 + sizeof(amount)) continue;
    std::memcpy(&amount, &code[3], sizeof(amount));
    if (amount > 0) return static_cast<uint64_t>(amount);
  }
  return 0;
}

// jmp rel32 or jmp *disp32(%rip), the latter with or without the bnd prefix;
// .plt.sec begins with endbr64.
JumpStub X86_64Code::ParseJumpStub(std::span<const uint8_t> code,
                                   uint64_t address) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr uint8_t kBnd = 0xf2;
  size_t at = 0;
  if (code.size() >= sizeof(kEndbr64) &&
      std::memcmp(code.data(), kEndbr64, sizeof(kEndbr64)) == 0) {
    at = sizeof(kEndbr64);
  }
  if (at < code.size() && code[at] == kBnd) ++at;
  const auto jump = code.subspan(at);
  JumpStub stub;
  size_t size = 0;
  if (jump.size() >= 5 && jump[0] == 0xe9) {
    stub.kind = JumpStub::Kind::kDirect;
    size = 5;
  } else if (jump.size() >= 6 && jump[0] == 0xff && jump[1] == 0x25) {
    stub.kind = JumpStub::Kind::kIndirect;
    size = 6;
  } else {
    return stub;
  }
  int32_t displacement = 0;
  std::memcpy(&displacement, &jump[size - sizeof(displacement)],
              sizeof(displacement));
  stub.target = address + at + size + static_cast<uint64_t>(displacement);
  return stub;
}

}  // namespace unspool::unwind
