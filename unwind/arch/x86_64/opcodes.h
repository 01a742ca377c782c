// What follows an x86-64 opcode, and which general registers it changes: tables
// of the Intel SDM, vol. 2, appendix A, in 64-bit mode.

#ifndef UNSPOOL_UNWIND_ARCH_X86_64_OPCODES_H_
#define UNSPOOL_UNWIND_ARCH_X86_64_OPCODES_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

struct X86_64Opcode {
  // Operands that the instruction has besides registers in the opcode itself.
  static constexpr uint16_t kModRm = 1 << 0;
  static constexpr uint16_t kImm8 = 1 << 1;
  static constexpr uint16_t kImm16 = 1 << 2;
  static constexpr uint16_t kImmZ = 1 << 3;    // 4 bytes; 2 with prefix 66
  static constexpr uint16_t kImmV = 1 << 4;    // as kImmZ; 8 with REX.W
  static constexpr uint16_t kOffset = 1 << 5;  // 8 bytes; 4 with prefix 67
  static constexpr uint16_t kImm32 = 1 << 6;
  // General registers that it may change.
  static constexpr uint16_t kToReg = 1 << 7;  // ModRM.reg
  static constexpr uint16_t kToRm = 1 << 8;   // ModRM.rm, if no memory
  static constexpr uint16_t kToOpcodeReg = 1 << 9;
  static constexpr uint16_t kToRax = 1 << 10;
  static constexpr uint16_t kToRaxRdx = 1 << 11;
  static constexpr uint16_t kToString = 1 << 12;  // rcx, rsi, rdi, rax
  static constexpr uint16_t kToSource = 1 << 13;  // VEX.vvvv
  static constexpr uint16_t kInvalid = 1 << 14;   // or never in our way
};

using X86_64OpcodeMap = std::array<uint16_t, 256>;

// Fills by ranges, so that the tables read as the manual's.
struct X86_64OpcodeRange {
  uint8_t first;
  uint8_t last;
  uint16_t flags;
};

template <size_t count>
constexpr X86_64OpcodeMap MakeOpcodeMap(
    uint16_t others, const X86_64OpcodeRange (&ranges)[count]) {
  X86_64OpcodeMap map{};
  map.fill(others);
  for (const X86_64OpcodeRange& range : ranges) {
    for (size_t i = range.first; i <= range.last; ++i) map[i] = range.flags;
  }
  return map;
}

constexpr X86_64OpcodeMap MakeOneByteOpcodes() {
  using O = X86_64Opcode;
  constexpr uint16_t kM = O::kModRm;
  X86_64OpcodeMap map =
      MakeOpcodeMap(0, {
                           {0x60, 0x62, O::kInvalid},
                           {0x63, 0x63, kM | O::kToReg},
                           {0x68, 0x68, O::kImmZ},
                           {0x69, 0x69, kM | O::kImmZ | O::kToReg},
                           {0x6a, 0x6a, O::kImm8},
                           {0x6b, 0x6b, kM | O::kImm8 | O::kToReg},
                           {0x6c, 0x6f, O::kToString},
                           {0x70, 0x7f, O::kImm8},
                           {0x80, 0x80, kM | O::kImm8 | O::kToRm},
                           {0x81, 0x81, kM | O::kImmZ | O::kToRm},
                           {0x82, 0x82, O::kInvalid},
                           {0x83, 0x83, kM | O::kImm8 | O::kToRm},
                           {0x84, 0x85, kM},
                           {0x86, 0x87, kM | O::kToReg | O::kToRm},
                           {0x88, 0x89, kM | O::kToRm},
                           {0x8a, 0x8b, kM | O::kToReg},
                           {0x8c, 0x8c, kM | O::kToRm},
                           {0x8d, 0x8d, kM | O::kToReg},
                           {0x8e, 0x8e, kM},
                           {0x8f, 0x8f, kM},
                           {0x91, 0x97, O::kToOpcodeReg | O::kToRax},
                           {0x98, 0x99, O::kToRaxRdx},
                           {0x9a, 0x9a, O::kInvalid},
                           {0x9f, 0x9f, O::kToRax},
                           {0xa0, 0xa1, O::kOffset | O::kToRax},
                           {0xa2, 0xa3, O::kOffset},
                           {0xa4, 0xa7, O::kToString},
                           {0xa8, 0xa8, O::kImm8},
                           {0xa9, 0xa9, O::kImmZ},
                           {0xaa, 0xaf, O::kToString},
                           {0xb0, 0xb7, O::kImm8 | O::kToOpcodeReg},
                           {0xb8, 0xbf, O::kImmV | O::kToOpcodeReg},
                           {0xc0, 0xc1, kM | O::kImm8 | O::kToRm},
                           {0xc2, 0xc2, O::kImm16},
                           {0xc4, 0xc5, O::kInvalid},
                           {0xc6, 0xc6, kM | O::kImm8 | O::kToRm},
                           {0xc7, 0xc7, kM | O::kImmZ | O::kToRm},
                           {0xc8, 0xc8, O::kInvalid},
                           {0xca, 0xcb, O::kInvalid},
                           {0xcd, 0xcd, O::kImm8},
                           {0xce, 0xcf, O::kInvalid},
                           {0xd0, 0xd3, kM | O::kToRm},
                           {0xd4, 0xd6, O::kInvalid},
                           {0xd7, 0xd7, O::kToRax},
                           {0xd8, 0xdf, kM | O::kToRax},
                           {0xe0, 0xe3, O::kImm8 | O::kToString},
                           {0xe4, 0xe7, O::kImm8 | O::kToRax},
                           {0xe8, 0xe9, O::kImm32},
                           {0xea, 0xea, O::kInvalid},
                           {0xeb, 0xeb, O::kImm8},
                           {0xec, 0xef, O::kToRax},
                           // Their immediate depends on ModRM.
                           {0xf6, 0xf7, kM | O::kToRm | O::kToRaxRdx},
                           {0xfe, 0xfe, kM | O::kToRm},
                           {0xff, 0xff, kM | O::kToRm},
                       });
  // The eight arithmetic operations; the last, CMP, changes nothing.
  for (size_t row = 0; row < 0x40; row += 8) {
    const bool is_compare = row == 0x38;
    const auto if_changes = [&](uint16_t flags) {
      return is_compare ? uint16_t{0} : flags;
    };
    map[row] = map[row + 1] = kM | if_changes(O::kToRm);
    map[row + 2] = map[row + 3] = kM | if_changes(O::kToReg);
    map[row + 4] = O::kImm8 | if_changes(O::kToRax);
    map[row + 5] = O::kImmZ | if_changes(O::kToRax);
    map[row + 6] = map[row + 7] = O::kInvalid;
  }
  return map;
}

// 0F xx. Operands that are vector registers count as no general ones.
constexpr X86_64OpcodeMap MakeTwoByteOpcodes() {
  using O = X86_64Opcode;
  constexpr uint16_t kM = O::kModRm;
  return MakeOpcodeMap(
      kM, {
              {0x00, 0x01, kM | O::kToRm | O::kToRaxRdx | O::kToString},
              {0x02, 0x03, kM | O::kToReg},
              {0x04, 0x04, O::kInvalid},
              {0x05, 0x05, O::kToRax | O::kToString},  // and r11: see Decode
              {0x06, 0x06, 0},
              {0x07, 0x07, O::kInvalid},
              {0x08, 0x09, 0},
              {0x0a, 0x0a, O::kInvalid},
              {0x0b, 0x0b, 0},
              {0x0c, 0x0c, O::kInvalid},
              {0x0e, 0x0f, O::kInvalid},
              {0x1e, 0x1e, kM | O::kToRm},
              {0x20, 0x23, kM | O::kToRm},
              {0x24, 0x27, O::kInvalid},
              {0x2c, 0x2d, kM | O::kToReg},
              {0x30, 0x37, O::kToRaxRdx},
              {0x38, 0x3f, O::kInvalid},
              {0x40, 0x4f, kM | O::kToReg},
              {0x50, 0x50, kM | O::kToReg},
              {0x70, 0x73, kM | O::kImm8},
              {0x77, 0x77, 0},
              {0x78, 0x79, kM | O::kToReg | O::kToRm},
              {0x7e, 0x7e, kM | O::kToRm},
              {0x80, 0x8f, O::kImm32},
              {0x90, 0x9f, kM | O::kToRm},
              {0xa0, 0xa1, O::kInvalid},
              {0xa2, 0xa2, O::kToRaxRdx | O::kToString},  // rbx: see Decode
              {0xa4, 0xa4, kM | O::kImm8 | O::kToRm},
              {0xa5, 0xa5, kM | O::kToRm},
              {0xa6, 0xaa, O::kInvalid},
              {0xab, 0xab, kM | O::kToRm},
              {0xac, 0xac, kM | O::kImm8 | O::kToRm},
              {0xad, 0xae, kM | O::kToRm},
              {0xaf, 0xaf, kM | O::kToReg},
              {0xb0, 0xb1, kM | O::kToRm | O::kToRax},
              {0xb2, 0xb2, kM | O::kToReg},
              {0xb3, 0xb3, kM | O::kToRm},
              {0xb4, 0xb8, kM | O::kToReg},
              {0xba, 0xba, kM | O::kImm8 | O::kToRm},
              {0xbb, 0xbb, kM | O::kToRm},
              {0xbc, 0xbf, kM | O::kToReg},
              {0xc0, 0xc1, kM | O::kToReg | O::kToRm},
              {0xc2, 0xc2, kM | O::kImm8},
              {0xc4, 0xc4, kM | O::kImm8},
              {0xc5, 0xc5, kM | O::kImm8 | O::kToReg},
              {0xc6, 0xc6, kM | O::kImm8},
              {0xc7, 0xc7, kM | O::kToRm | O::kToRaxRdx},
              {0xc8, 0xcf, O::kToOpcodeReg},
              {0xd7, 0xd7, kM | O::kToReg},
          });
}

// 0F 38 xx.
constexpr X86_64OpcodeMap MakeThreeByteOpcodes38() {
  using O = X86_64Opcode;
  return MakeOpcodeMap(O::kModRm,
                       {{0xf0, 0xfc, O::kModRm | O::kToReg | O::kToRm}});
}

// 0F 3A xx.
constexpr X86_64OpcodeMap MakeThreeByteOpcodes3a() {
  using O = X86_64Opcode;
  return MakeOpcodeMap(O::kModRm | O::kImm8,
                       {{0x14, 0x17, O::kModRm | O::kImm8 | O::kToRm},
                        {0xf0, 0xf0, O::kModRm | O::kImm8 | O::kToReg}});
}

// Of a VEX (maps 1 to 3), EVEX (also 5 and 6) or XOP (8 to 10) instruction:
// general registers are changed by moves and conversions to them, by BMI and
// TBM, and by moves of masks. `pp`: the prefix that it stands for.
constexpr uint16_t VectorOpcodeFlags(uint8_t map, uint8_t opcode, bool is_evex,
                                     uint8_t pp) {
  using O = X86_64Opcode;
  constexpr uint16_t kM = O::kModRm;
  const bool is_conversion = opcode == 0x2c || opcode == 0x2d ||
                             (is_evex && (opcode == 0x78 || opcode == 0x79));
  switch (map) {
    case 1:
      if (opcode == 0x77) return 0;
      if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
          (opcode >= 0xc4 && opcode <= 0xc6)) {
        return kM | O::kImm8 | (opcode == 0xc5 ? O::kToReg : 0);
      }
      if (opcode == 0x7e) return kM | (pp == 1 ? O::kToRm : 0);
      if (is_conversion || opcode == 0x50 || opcode == 0x93 || opcode == 0xd7) {
        return kM | O::kToReg;
      }
      return kM;
    case 2:
      if (opcode == 0xf3 || opcode == 0xf6) {
        return kM | O::kToReg | O::kToSource;
      }
      return kM | (opcode >= 0xf2 && opcode <= 0xf7 ? O::kToReg : 0);
    case 3:
      return kM | O::kImm8 | (opcode >= 0x14 && opcode <= 0x17 ? O::kToRm : 0) |
             (opcode == 0xf0 ? O::kToReg : 0);
    case 5:
      if (opcode == 0x7e) return kM | O::kToRm;
      return kM | (is_conversion ? O::kToReg : 0);
    case 6:
      return kM;
    case 8:
      return kM | O::kImm8;
    case 9:
      return kM | O::kToReg | O::kToSource;
    case 10:
      return kM | O::kImm32 | O::kToReg;
    default:
      return O::kInvalid;
  }
}

// Is what the opcode, or that behind 0F, changes in a register one byte of it?
constexpr bool WritesByte(bool is_after_0f, uint8_t opcode) {
  if (is_after_0f) {  // SETcc, CMPXCHG, XADD
    return (opcode & 0xf0) == 0x90 || opcode == 0xb0 || opcode == 0xc0;
  }
  if (opcode < 0x40) return (opcode & 5) == 0;
  switch (opcode) {
    case 0x80:
    case 0x86:
    case 0x88:
    case 0x8a:
    case 0xc0:
    case 0xc6:
    case 0xd0:
    case 0xd2:
    case 0xf6:
    case 0xfe:
      return true;
    default:
      return (opcode & 0xf8) == 0xb0;
  }
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ARCH_X86_64_OPCODES_H_
