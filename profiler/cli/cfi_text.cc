#include "profiler/cli/cfi_text.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <iterator>

#include "unwind/pointer_encoding.h"

namespace unspool::profiler {
namespace {

using unwind::ByteReader;
using unwind::Cie;

// Operands of one instruction or operation, in the order of its text:
//   %r register, %R register whose rule is set, %n the same as %r with its
//   number bare (all ULEB128)
//   %u ULEB128, %s SLEB128, %1 %2 %4 %8 unsigned of that size, %i %h %w %d
//   signed of 1, 2, 4, 8 bytes, %x address
//   %U ULEB128 times the data alignment, with sign; %N the same negated;
//   %S SLEB128 likewise; %F the same, no sign if positive
//   %a %b %c %q advance by 1, 2, 4, 8 bytes' worth; %l location; %e expression
struct Opcode {
  uint8_t value;
  const char* text;
};

constexpr Opcode kInstructions[] = {
    {0x00, "DW_CFA_nop"},
    {0x01, "DW_CFA_set_loc: %l"},
    {0x02, "DW_CFA_advance_loc1: %a"},
    {0x03, "DW_CFA_advance_loc2: %b"},
    {0x04, "DW_CFA_advance_loc4: %c"},
    {0x05, "DW_CFA_offset_extended: %R at cfa%U"},
    {0x06, "DW_CFA_restore_extended: %R"},
    {0x07, "DW_CFA_undefined: %R"},
    {0x08, "DW_CFA_same_value: %R"},
    {0x09, "DW_CFA_register: %R in %r"},
    {0x0a, "DW_CFA_remember_state"},
    {0x0b, "DW_CFA_restore_state"},
    {0x0c, "DW_CFA_def_cfa: %r ofs %u"},
    {0x0d, "DW_CFA_def_cfa_register: %r"},
    {0x0e, "DW_CFA_def_cfa_offset: %u"},
    {0x0f, "DW_CFA_def_cfa_expression (%e)"},
    {0x10, "DW_CFA_expression: %R (%e)"},
    {0x11, "DW_CFA_offset_extended_sf: %R at cfa%S"},
    {0x12, "DW_CFA_def_cfa_sf: %r ofs %F"},
    {0x13, "DW_CFA_def_cfa_offset_sf: %F"},
    {0x14, "DW_CFA_val_offset: %R is cfa%U"},
    {0x15, "DW_CFA_val_offset_sf: %R is cfa%S"},
    {0x16, "DW_CFA_val_expression: %R (%e)"},
    {0x1d, "DW_CFA_MIPS_advance_loc8: %q"},
    {0x2e, "DW_CFA_GNU_args_size: %u"},
    {0x2f, "DW_CFA_GNU_negative_offset_extended: %R at cfa%N"},
};

constexpr Opcode kOperations[] = {
    {0x03, "DW_OP_addr: %x"},
    {0x06, "DW_OP_deref"},
    {0x08, "DW_OP_const1u: %1"},
    {0x09, "DW_OP_const1s: %i"},
    {0x0a, "DW_OP_const2u: %2"},
    {0x0b, "DW_OP_const2s: %h"},
    {0x0c, "DW_OP_const4u: %4"},
    {0x0d, "DW_OP_const4s: %w"},
    {0x0e, "DW_OP_const8u: %8"},
    {0x0f, "DW_OP_const8s: %d"},
    {0x10, "DW_OP_constu: %u"},
    {0x11, "DW_OP_consts: %s"},
    {0x12, "DW_OP_dup"},
    {0x13, "DW_OP_drop"},
    {0x14, "DW_OP_over"},
    {0x15, "DW_OP_pick: %1"},
    {0x16, "DW_OP_swap"},
    {0x17, "DW_OP_rot"},
    {0x19, "DW_OP_abs"},
    {0x1a, "DW_OP_and"},
    {0x1b, "DW_OP_div"},
    {0x1c, "DW_OP_minus"},
    {0x1d, "DW_OP_mod"},
    {0x1e, "DW_OP_mul"},
    {0x1f, "DW_OP_neg"},
    {0x20, "DW_OP_not"},
    {0x21, "DW_OP_or"},
    {0x22, "DW_OP_plus"},
    {0x23, "DW_OP_plus_uconst: %u"},
    {0x24, "DW_OP_shl"},
    {0x25, "DW_OP_shr"},
    {0x26, "DW_OP_shra"},
    {0x27, "DW_OP_xor"},
    {0x28, "DW_OP_bra: %h"},
    {0x29, "DW_OP_eq"},
    {0x2a, "DW_OP_ge"},
    {0x2b, "DW_OP_gt"},
    {0x2c, "DW_OP_le"},
    {0x2d, "DW_OP_lt"},
    {0x2e, "DW_OP_ne"},
    {0x2f, "DW_OP_skip: %h"},
    {0x92, "DW_OP_bregx: %n %s"},
    {0x94, "DW_OP_deref_size: %1"},
    {0x96, "DW_OP_nop"},
};

constexpr const char* kRegisterNames[] = {
    "rax",   "rdx",   "rcx",  "rbx",   "rsi",   "rdi",   "rbp",   "rsp",
    "r8",    "r9",    "r10",  "r11",   "r12",   "r13",   "r14",   "r15",
    "rip",   "xmm0",  "xmm1", "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",
    "xmm7",  "xmm8",  "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
    "xmm15", "st0",   "st1",  "st2",   "st3",   "st4",   "st5",   "st6",
    "st7",   "mm0",   "mm1",  "mm2",   "mm3",   "mm4",   "mm5",   "mm6",
    "mm7",   "rflags"};

using Table = std::array<const char*, 256>;

template <size_t kSize>
constexpr Table MakeTable(const Opcode (&opcodes)[kSize]) {
  Table table{};
  for (const Opcode& opcode : opcodes) table[opcode.value] = opcode.text;
  return table;
}
constexpr Table kInstructionTable = MakeTable(kInstructions);
constexpr Table kOperationTable = MakeTable(kOperations);

int64_t Factored(uint64_t factor, const Cie& cie) {
  return static_cast<int64_t>(factor *
                              static_cast<uint64_t>(cie.data_alignment));
}

class Writer {
 public:
  Writer(ByteReader& reader, InstructionContext* context, Columns* columns,
         std::string* out)
      : reader_(reader), context_(*context), columns_(*columns), out_(out) {}

  void Instruction() {
    const uint8_t opcode = reader_.U8();
    const uint8_t operand = opcode & 0x3f;
    switch (opcode & 0xc0) {
      case 0x40:
        *out_ += "DW_CFA_advance_loc: ";
        return Advance(operand);
      case 0x80:
        *out_ += "DW_CFA_offset: ";
        Column(operand);
        return Template(" at cfa%U");
      case 0xc0:
        *out_ += "DW_CFA_restore: ";
        return Column(operand);
      default:
        return Template(kInstructionTable[opcode]);
    }
  }

 private:
  void Template(const char* text) {
    if (text == nullptr) return reader_.Fail();
    for (; *text != '\0' && reader_.ok(); ++text) {
      if (*text == '%') {
        Operand(*++text);
      } else {
        *out_ += *text;
      }
    }
  }

  void Operand(char kind) {
    switch (kind) {
      case 'r':
        *out_ += LongRegisterName(reader_.Uleb128());
        return;
      case 'n':
        *out_ += LongRegisterName(reader_.Uleb128()).substr(1);
        return;
      case 'R':
        return Column(reader_.Uleb128());
      case 'a':
        return Advance(reader_.U8());
      case 'b':
        return Advance(reader_.U16());
      case 'c':
        return Advance(reader_.U32());
      case 'q':
        return Advance(reader_.U64());
      case 'l':
        return SetLocation();
      case 'e':
        return Expression();
      case 'x':
        return Append(out_, "%lx", reader_.U64());
      case 'U':
        return Append(out_, "%+ld", Factored(reader_.Uleb128(), *context_.cie));
      case 'N':
        return Append(out_, "%+ld",
                      -Factored(reader_.Uleb128(), *context_.cie));
      case 'S':
        return Append(out_, "%+ld", Factored(reader_.Sleb128(), *context_.cie));
      case 'F':
        return Append(out_, "%ld", Factored(reader_.Sleb128(), *context_.cie));
      default:
        return Number(kind);
    }
  }

  void Number(char kind) {
    switch (kind) {
      case 'u':
        *out_ += std::to_string(reader_.Uleb128());
        return;
      case 's':
        return Append(out_, "%ld", reader_.Sleb128());
      case '1':
        return Append(out_, "%u", reader_.U8());
      case '2':
        return Append(out_, "%u", reader_.U16());
      case '4':
        return Append(out_, "%u", reader_.U32());
      case '8':
        return Append(out_, "%lu", reader_.U64());
      case 'i':
        return Append(out_, "%ld", reader_.S8());
      case 'h':
        return Append(out_, "%ld", reader_.S16());
      case 'w':
        return Append(out_, "%ld", reader_.S32());
      case 'd':
        return Append(out_, "%ld", reader_.S64());
      default:
        return reader_.Fail();
    }
  }

  void Column(uint64_t number) {
    *out_ += LongRegisterName(number);
    if (number < kColumnCount) columns_.set(number);
  }

  void Advance(uint64_t factor) {
    const uint64_t delta = factor * context_.cie->code_alignment;
    context_.pc += delta;
    *out_ += std::to_string(delta);
    *out_ += " to ";
    AppendHex(out_, context_.pc, 16);
  }

  void SetLocation() {
    context_.pc = unwind::ReadEncodedPointer(
                      reader_, context_.cie->fde_encoding,
                      context_.section->bases, context_.cie->address_size)
                      .value;
    Append(out_, "%016lx", context_.pc);
  }

  void Expression() {
    const uint64_t size = reader_.Uleb128();
    const uint64_t address = reader_.address();
    ByteReader block(reader_.Bytes(size), address);
    Writer writer(block, &context_, &columns_, out_);
    for (const char* separator = ""; !block.empty(); separator = "; ") {
      *out_ += separator;
      writer.Operation();
    }
    if (!block.ok()) reader_.Fail();
  }

  void Operation() {
    const uint8_t opcode = reader_.U8();
    if (opcode >= 0x30 && opcode <= 0x4f) {
      Append(out_, "DW_OP_lit%d", opcode - 0x30);
    } else if (opcode >= 0x70 && opcode <= 0x8f) {
      Append(out_, "DW_OP_breg%d (%s): %ld", opcode - 0x70,
             RegisterName(opcode - 0x70).c_str(), reader_.Sleb128());
    } else {
      Template(kOperationTable[opcode]);
    }
  }

  ByteReader& reader_;
  InstructionContext& context_;
  Columns& columns_;
  std::string* out_;
};

}  // namespace

std::string RegisterName(uint64_t number) {
  if (number < std::size(kRegisterNames)) return kRegisterNames[number];
  return "r" + std::to_string(number);
}

std::string LongRegisterName(uint64_t number) {
  std::string name = "r" + std::to_string(number);
  if (number < std::size(kRegisterNames)) {
    name.append(" (").append(kRegisterNames[number]).append(")");
  }
  return name;
}

void Append(std::string* out, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  out->append(text);
}

void AppendHex(std::string* out, uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    *out += "0123456789abcdef"[value >> shift & 0xf];
  }
}

void AppendPadded(std::string* out, const std::string& text, size_t width) {
  *out += text;
  if (text.size() < width) out->append(width - text.size(), ' ');
}

bool AppendInstruction(ByteReader& reader, InstructionContext* context,
                       Columns* columns, std::string* out) {
  Writer(reader, context, columns, out).Instruction();
  return reader.ok();
}

}  // namespace unspool::profiler
