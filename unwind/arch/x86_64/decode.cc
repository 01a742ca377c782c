#include "unwind/arch/x86_64/decode.h"

#include <cstring>

#include "unwind/arch/x86_64/opcodes.h"

namespace unspool::unwind {

namespace {

using O = X86_64Opcode;
using Kind = Instruction::Kind;

constexpr X86_64OpcodeMap kOneByte = MakeOneByteOpcodes();
constexpr X86_64OpcodeMap kTwoByte = MakeTwoByteOpcodes();
constexpr X86_64OpcodeMap kThreeByte38 = MakeThreeByteOpcodes38();
constexpr X86_64OpcodeMap kThreeByte3a = MakeThreeByteOpcodes3a();

// DWARF's numbers of the processor's: psABI figure 3.36.
constexpr uint8_t kDwarf[16] = {0, 2, 1,  3,  7,  6,  4,  5,
                                8, 9, 10, 11, 12, 13, 14, 15};
constexpr uint8_t kRsp = 7;
constexpr uint8_t kRip = 16;
constexpr uint32_t kRaxBit = 1 << 0;
constexpr uint32_t kRdxBit = 1 << 1;
constexpr uint32_t kRbxBit = 1 << 3;
constexpr uint32_t kR11Bit = 1 << 11;
constexpr uint32_t kStringBits = 1 << 0 | 1 << 2 | 1 << 4 | 1 << 5;

// Opcodes after no escape, 0F, 0F 38, 0F 3A; of EVEX or XOP alone.
enum class Map : uint8_t { kPlain, k0f, k0f38, k0f3a, kOther };

class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t> code) : code_(code) {}

  Instruction Decode() {
    ReadPrefixes();
    ReadOpcode();
    if ((flags_ & O::kInvalid) != 0) return {};
    if ((flags_ & O::kModRm) != 0) ReadModRm();
    RefineFlags();
    ReadImmediate();
    if (at_ > code_.size() || at_ > kX86_64MaxInstructionSize) return {};
    instruction_.size = static_cast<uint8_t>(at_);
    instruction_.kind = Kind::kOther;
    instruction_.writes = Writes();
    if (!is_vector_) FindKind();
    return instruction_;
  }

 private:
  // 0 behind the end: Decode() sees by at_ that it was read.
  uint8_t Next() {
    const uint8_t byte = at_ < code_.size() ? code_[at_] : 0;
    ++at_;
    return byte;
  }

  int64_t Number(size_t size) {
    int64_t value = 0;
    if (at_ + size <= code_.size()) {
      std::memcpy(&value, &code_[at_], size);
      const size_t unused = 8 * (sizeof(value) - size);
      const uint64_t shifted = static_cast<uint64_t>(value) << unused;
      value = static_cast<int64_t>(shifted) >> unused;
    }
    at_ += size;
    return value;
  }

  void ReadPrefixes() {
    for (opcode_ = Next();; opcode_ = Next()) {
      switch (opcode_) {
        case 0x66:
          has_66_ = true;
          break;
        case 0x67:
          has_67_ = true;
          break;
        case 0xf2:
        case 0xf3:
          repeat_ = opcode_;
          break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0xf0:
          break;
        case 0x64:
        case 0x65:
          has_segment_ = true;
          break;
        default:
          return;
      }
      if (at_ > kX86_64MaxInstructionSize) return;
    }
  }

  void ReadOpcode() {
    if ((opcode_ & 0xf0) == 0x40) {
      rex_ = opcode_;
      opcode_ = Next();
    }
    const bool is_xop = opcode_ == 0x8f && at_ < code_.size() &&
                        (code_[at_] & 0x1f) >= 8;  // else POP
    if (rex_ == 0 &&
        (opcode_ == 0xc4 || opcode_ == 0xc5 || opcode_ == 0x62 || is_xop)) {
      return ReadVectorOpcode();
    }
    if (opcode_ != 0x0f) {
      flags_ = kOneByte[opcode_];
      return;
    }
    opcode_ = Next();
    map_ = Map::k0f;
    flags_ = kTwoByte[opcode_];
    if (opcode_ == 0x38 || opcode_ == 0x3a) {
      const bool is_38 = opcode_ == 0x38;
      opcode_ = Next();
      map_ = is_38 ? Map::k0f38 : Map::k0f3a;
      flags_ = (is_38 ? kThreeByte38 : kThreeByte3a)[opcode_];
    }
  }

  // VEX (SDM vol. 2, 2.3.5), EVEX (2.7.1) and AMD's XOP (APM vol. 6, 1.2).
  // Their R, X, B are inverted.
  void ReadVectorOpcode() {
    is_vector_ = true;
    const uint8_t first = opcode_;
    uint8_t map = 1;
    uint8_t last = Next();  // the byte with vvvv
    rex_ = static_cast<uint8_t>(~last >> 5 & 4);
    if (first != 0xc5) {
      rex_ = ~last >> 5 & 7;
      map = last & (first == 0x62 ? 7 : 0x1f);
      last = Next();
      rex_ |= last >> 4 & 8;
    }
    source_ = kDwarf[~last >> 3 & 15];
    repeat_ = last & 3;  // pp
    if (first == 0x62) Next();
    opcode_ = Next();
    map_ = map == 1   ? Map::k0f
           : map == 2 ? Map::k0f38
           : map == 3 ? Map::k0f3a
                      : Map::kOther;
    flags_ = VectorOpcodeFlags(map, opcode_, /*is_evex=*/first == 0x62,
                               /*pp=*/repeat_);
  }

  // Groups 1 and 3: ModRM.reg says what it is.
  void RefineFlags() {
    if (map_ != Map::kPlain || is_vector_) return;
    constexpr uint16_t kResults = O::kToRm | O::kToRaxRdx;
    const bool is_compare = opcode_ >= 0x80 && opcode_ <= 0x83 && reg_ == 7;
    if (is_compare) flags_ &= ~kResults;
    if ((opcode_ & 0xfe) == 0xf6) {
      if (reg_ < 2) {  // TEST
        flags_ |= opcode_ == 0xf6 ? O::kImm8 : O::kImmZ;
        flags_ &= ~kResults;
      } else {
        flags_ &= reg_ < 4 ? ~O::kToRaxRdx : ~O::kToRm;
      }
    }
  }

  void ReadModRm() {
    const uint8_t modrm = Next();
    mod_ = modrm >> 6;
    reg_ = modrm >> 3 & 7;
    rm_ = modrm & 7;
    if (mod_ == 3) return;
    bool has_base = true;
    uint8_t base = rm_;
    if (rm_ == 4) {
      const uint8_t sib = Next();
      base = sib & 7;
      has_index_ = ((sib >> 3 & 7) | Rex(kX)) != 4;
      has_base = mod_ != 0 || base != 5;
    } else if (rm_ == 5 && mod_ == 0) {
      base_ = kRip;
      displacement_ = Number(4);
      return;
    }
    if (has_base) base_ = kDwarf[base | Rex(kB)];
    if (mod_ == 1) displacement_ = Number(1);
    if (mod_ == 2 || !has_base) displacement_ = Number(4);
  }

  void ReadImmediate() {
    const size_t size_z = has_66_ && (rex_ & kW) == 0 ? 2 : 4;
    if ((flags_ & O::kImm8) != 0) immediate_ = Number(1);
    if ((flags_ & O::kImm16) != 0) immediate_ = Number(2);
    if ((flags_ & O::kImmZ) != 0) immediate_ = Number(size_z);
    if ((flags_ & O::kImmV) != 0) {
      immediate_ = Number((rex_ & kW) != 0 ? 8 : size_z);
    }
    if ((flags_ & O::kOffset) != 0) Number(has_67_ ? 4 : 8);
    if ((flags_ & O::kImm32) != 0) immediate_ = Number(4);
  }

  uint32_t Writes() const {
    // F3 0F 7E moves between vector registers.
    const bool is_movq =
        map_ == Map::k0f && opcode_ == 0x7e && !is_vector_ && repeat_ == 0xf3;
    const bool is_to_rm = (flags_ & O::kToRm) != 0 && mod_ == 3 && !is_movq;
    uint32_t writes = 0;
    if ((flags_ & O::kToReg) != 0) writes |= Written(reg_ | Rex(kR));
    if (is_to_rm) writes |= Written(rm_ | Rex(kB));
    if ((flags_ & O::kToOpcodeReg) != 0) writes |= Written(OpcodeNumber());
    if ((flags_ & (O::kToRax | O::kToRaxRdx)) != 0) writes |= kRaxBit;
    if ((flags_ & O::kToRaxRdx) != 0) writes |= kRdxBit;
    if ((flags_ & O::kToString) != 0) writes |= kStringBits;
    if ((flags_ & O::kToSource) != 0) writes |= Bit(source_);
    if (map_ == Map::k0f && !is_vector_) {
      if (opcode_ == 0x05) writes |= kR11Bit;
      if (opcode_ == 0xa2) writes |= kRbxBit;
    }
    return writes;
  }

  // Without REX, bytes of the registers 4 to 7 are AH, CH, DH and BH (SDM vol.
  // 1, 3.4.1.1).
  uint32_t Written(uint8_t number) const {
    const bool is_byte = map_ <= Map::k0f && !is_vector_ && rex_ == 0 &&
                         WritesByte(map_ == Map::k0f, opcode_);
    return Bit(kDwarf[is_byte ? number & 3 : number]);
  }

  void FindKind() {
    if (map_ == Map::k0f) {
      FindTwoByteKind();
    } else if (map_ == Map::kPlain) {
      FindOneByteKind();
    }
    // What else changes SP is beyond us.
    if (instruction_.kind == Kind::kOther &&
        (instruction_.writes & Bit(kRsp)) != 0) {
      instruction_.kind = Kind::kUnknown;
    }
  }

  void FindTwoByteKind() {
    if (opcode_ >= 0x80 && opcode_ <= 0x8f) {
      Set(Kind::kBranch, Instruction::kNoRegister, immediate_);
    } else if (opcode_ == 0x0b || opcode_ == 0xb9 || opcode_ == 0xff) {
      instruction_.kind = Kind::kTrap;
    }
  }

  void FindOneByteKind() {
    const uint8_t row = opcode_ & 0xf8;
    if (row == 0x50) return Set(Kind::kPush, OpcodeReg());
    if (row == 0x58) return Set(Kind::kPop, OpcodeReg());
    if ((opcode_ & 0xf0) == 0x70 || (opcode_ & 0xfc) == 0xe0) {
      return Set(Kind::kBranch, Instruction::kNoRegister, immediate_);
    }
    switch (opcode_) {
      case 0x68:
      case 0x6a:
      case 0x9c:
        return Set(Kind::kPush, Instruction::kNoRegister);
      case 0x8f:
        if (reg_ != 0 || mod_ == 3) return Set(Kind::kUnknown, 0);
        return Set(Kind::kPop, Instruction::kNoRegister);
      case 0x9d:
        return Set(Kind::kPop, Instruction::kNoRegister);
      case 0x81:
      case 0x83:
        return FindArithmetic();
      case 0x89:
      case 0x8b:
        return FindMove();
      case 0x8d:
        return FindAddress();
      case 0xc2:
      case 0xc3:
        // What `ret n` takes beyond its address was pushed by the caller.
        return Set(Kind::kReturn, Instruction::kNoRegister, immediate_);
      case 0xc9:
        return Set(Kind::kLeave, Instruction::kNoRegister);
      case 0xcc:
      case 0xf1:
      case 0xf4:
        return Set(Kind::kTrap, Instruction::kNoRegister);
      case 0xe8:
        return Set(Kind::kCall, Instruction::kNoRegister, immediate_);
      case 0xe9:
      case 0xeb:
        return Set(Kind::kJump, Instruction::kNoRegister, immediate_);
      case 0xff:
        return FindGroup5();
      default:
        return;
    }
  }

  // ADD /0, AND /4, SUB /5 with a constant, on a whole register.
  void FindArithmetic() {
    if (mod_ != 3 || (rex_ & kW) == 0) return;
    if (reg_ == 0) Set(Kind::kAdd, Rm(), immediate_);
    if (reg_ == 4) Set(Kind::kAnd, Rm(), immediate_);
    if (reg_ == 5) Set(Kind::kAdd, Rm(), -immediate_);
  }

  void FindMove() {
    if ((rex_ & kW) == 0) return;
    const bool is_load = opcode_ == 0x8b;
    if (mod_ == 3) {
      Set(Kind::kMove, is_load ? Reg() : Rm());
      instruction_.base = is_load ? Rm() : Reg();
      return;
    }
    if (!HasPlainAddress()) return;
    Set(is_load ? Kind::kLoad : Kind::kStore, Reg(), displacement_);
    instruction_.base = base_;
  }

  void FindAddress() {
    if ((rex_ & kW) == 0 || mod_ == 3 || !HasPlainAddress()) return;
    Set(Kind::kAddress, Reg(), displacement_);
    instruction_.base = base_;
  }

  void FindGroup5() {
    switch (reg_) {
      case 2:
        return Set(Kind::kCall, Instruction::kNoRegister);
      case 4:
        return mod_ == 3 ? Set(Kind::kJumpToRegister, Rm())
               // By a table: not a way to a return that we can follow.
               : base_ != kRip ? Set(Kind::kUnknown, Instruction::kNoRegister)
                               : Set(Kind::kJumpByMemory,
                                     Instruction::kNoRegister, displacement_);
      case 6:
        return Set(Kind::kPush, Instruction::kNoRegister);
      default:
        if (reg_ > 2) Set(Kind::kUnknown, Instruction::kNoRegister);
    }
  }

  // A word at a register plus a constant.
  bool HasPlainAddress() const {
    return base_ != Instruction::kNoRegister && base_ != kRip && !has_index_ &&
           !has_segment_ && !has_67_;
  }

  // With what the kind says, nothing else is written.
  void Set(Kind kind, uint8_t reg, int64_t value = 0) {
    instruction_.kind = kind;
    instruction_.reg = reg;
    instruction_.value = value;
    instruction_.writes = 0;
  }

  static constexpr uint8_t kB = 1;
  static constexpr uint8_t kX = 2;
  static constexpr uint8_t kR = 4;
  static constexpr uint8_t kW = 8;
  // 8 if that bit is set.
  uint8_t Rex(uint8_t bit) const { return (rex_ & bit) != 0 ? 8 : 0; }
  uint8_t Reg() const { return kDwarf[reg_ | Rex(kR)]; }
  uint8_t Rm() const { return kDwarf[rm_ | Rex(kB)]; }
  uint8_t OpcodeNumber() const { return (opcode_ & 7) | Rex(kB); }
  uint8_t OpcodeReg() const { return kDwarf[OpcodeNumber()]; }
  static uint32_t Bit(uint8_t reg) { return uint32_t{1} << reg; }

  std::span<const uint8_t> code_;
  size_t at_ = 0;
  bool has_66_ = false;
  bool has_67_ = false;
  bool has_segment_ = false;
  bool is_vector_ = false;
  bool has_index_ = false;
  uint8_t repeat_ = 0;  // F2, F3; of a vector instruction its pp
  uint8_t rex_ = 0;
  uint8_t source_ = 0;  // VEX.vvvv, of DWARF
  uint8_t opcode_ = 0;
  Map map_ = Map::kPlain;
  uint8_t mod_ = 0;
  uint8_t reg_ = 0;
  uint8_t rm_ = 0;
  uint8_t base_ = Instruction::kNoRegister;  // of the memory operand
  uint16_t flags_ = 0;
  int64_t displacement_ = 0;
  int64_t immediate_ = 0;
  Instruction instruction_;
};

}  // namespace

Instruction DecodeX86_64(std::span<const uint8_t> code) {
  return Decoder(code).Decode();
}

}  // namespace unspool::unwind
