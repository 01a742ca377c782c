#include "tests/oracle/instruction.h"

#include <algorithm>
#include <iterator>

namespace unspool::oracle {
namespace {

bool IsPrefix(uint8_t byte) {
  constexpr uint8_t kLegacy[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                 0x66, 0x67, 0xf0, 0xf2, 0xf3};
  const bool is_rex = (byte & 0xf0) == 0x40;
  return is_rex || std::ranges::find(kLegacy, byte) != std::end(kLegacy);
}

}  // namespace

Flow DecodeFlow(std::span<const uint8_t> code) {
  size_t at = 0;
  while (at < code.size() && IsPrefix(code[at])) ++at;
  const auto byte = [&](size_t offset) -> unsigned {
    return at + offset < code.size() ? code[at + offset] : 0u;
  };
  switch (byte(0)) {
    case 0xe8:
      return (byte(1) | byte(2) | byte(3) | byte(4)) == 0 ? Flow::kOther
                                                          : Flow::kCall;
    case 0xc2:
    case 0xc3:
      return Flow::kReturn;
    case 0xff:
      switch (byte(1) >> 3 & 7) {
        case 2:
          return Flow::kCall;
        case 4:
          return Flow::kIndirectJump;
        default:
          return Flow::kOther;
      }
    case 0x0f:
      return byte(1) == 0x05 ? Flow::kSystemCall : Flow::kOther;
    default:
      return Flow::kOther;
  }
}

}  // namespace unspool::oracle
