// cfi_rows rows|opcodes FILE: what this project reads from FILE's .eh_frame, in
// the text of `readelf --debug-dump=frames-interp` or `--debug-dump=frames`
// (binutils 2.40), for compare.py to hold against readelf's own.
//
// `rows` prints what CfiMachine makes of every FDE. `opcodes` prints the
// instructions in words, and an expression only where one of CfiMachine's rows
// has just these bytes for it.

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/differential/cfi_text.h"
#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"
#include "unwind/cfi_machine.h"
#include "unwind/cfi_row.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"
#include "unwind/pointer_encoding.h"

namespace unspool::unwind {
namespace {

// All columns that an x86-64 compiler may write, where the unwinder's own
// architecture keeps those that it restores.
struct AllColumns {
  static constexpr size_t kRegisterCount = kColumnCount;
};
using Machine = CfiMachine<AllColumns>;
using Row = Machine::Row;

// With its sign, whichever it is.
std::string Signed(int64_t value) {
  return (value < 0 ? "" : "+") + std::to_string(value);
}

std::string RuleText(const RegisterRule& rule) {
  switch (rule.kind) {
    case RuleKind::kUnspecified:
    case RuleKind::kUndefined:
      return "u";
    case RuleKind::kSameValue:
      return "s";
    case RuleKind::kOffset:
    case RuleKind::kValOffset: {
      return (rule.kind == RuleKind::kOffset ? "c" : "v") + Signed(rule.value);
    }
    case RuleKind::kRegister:
      return LongRegisterName(rule.register_or_size);
    case RuleKind::kExpression:
      return "exp";
    case RuleKind::kValExpression:
      return "vexp";
  }
  return "?";
}

std::string CfaText(const CfaRule& cfa) {
  if (cfa.kind == CfaRule::Kind::kExpression) return "exp";
  return RegisterName(cfa.register_or_size) + Signed(cfa.value);
}

class Dump {
 public:
  Dump(const ElfRange& section, bool rows)
      : source_(section.bytes, section.address), rows_(rows) {
    section_.address = section.address;
    section_.size = section.bytes.size();
  }

  // False if the section is malformed; then what was printed ends there.
  bool Print() {
    out_ = "Contents of the .eh_frame section:\n\n";
    uint64_t next = section_.address;
    bool ok = true;
    while (ok && next - section_.address < section_.size) {
      CfiEntry entry;
      ok = ReadEntry(source_, section_, next, &entry) && PrintEntry(entry);
      next = entry.end();
      if (out_.size() > kFlushAt) Flush();
    }
    if (!ok) Append(&out_, "malformed at offset %#" PRIx64, Offset(next));
    out_ += '\n';
    Flush();
    return ok;
  }

 private:
  static constexpr size_t kFlushAt = 1 << 16;

  void Flush() {
    fwrite(out_.data(), 1, out_.size(), stdout);
    out_.clear();
  }

  uint64_t Offset(uint64_t address) const { return address - section_.address; }

  ByteReader Read(const AddressRange& range) const {
    return {source_.Window(range.address, range.size), range.address};
  }

  bool PrintEntry(const CfiEntry& entry) {
    if (entry.kind == CfiEntry::Kind::kTerminator) {
      Append(&out_, "\n%08" PRIx64 " ZERO terminator\n\n",
             Offset(entry.address));
      return true;
    }
    if (entry.kind == CfiEntry::Kind::kCie) return PrintCie(entry);
    return PrintFde(entry);
  }

  // Offset, length, and the CIE id or pointer that the body follows.
  void PrintEntryStart(const CfiEntry& entry) {
    const uint64_t id_address = entry.body.address - sizeof(uint32_t);
    Append(&out_, "\n%08" PRIx64 " %016" PRIx64 " %08" PRIx64 " ",
           Offset(entry.address), entry.body.size + sizeof(uint32_t),
           entry.kind == CfiEntry::Kind::kCie ? 0
                                              : id_address - entry.cie_address);
  }

  bool PrintCie(const CfiEntry& entry) {
    Cie cie;
    if (!ReadCie(source_, section_, entry.address, &cie)) return false;
    // Its version is one byte; then follows the string.
    const auto body = source_.Window(entry.body.address, entry.body.size);
    const std::string augmentation(reinterpret_cast<const char*>(body.data()) +
                                   1);
    Fde no_fde;
    no_fde.address = entry.address;
    PrintEntryStart(entry);
    if (rows_) {
      Append(&out_, "CIE \"%s\" cf=%" PRIu64 " df=%" PRId64 " ra=%" PRIu64 "\n",
             augmentation.c_str(), cie.code_alignment, cie.data_alignment,
             cie.ra_register);
      return PrintRows(cie, no_fde, cie.instructions);
    }
    PrintCieFields(cie, augmentation);
    PrintAugmentationData(AugmentationData(Read(entry.body), true, cie));
    return PrintInstructions(cie, no_fde, cie.instructions);
  }

  void PrintCieFields(const Cie& cie, const std::string& augmentation) {
    Append(
        &out_,
        "CIE\n  Version:               %d\n  Augmentation:          \"%s\"\n",
        cie.version, augmentation.c_str());
    if (cie.version == 4) {
      Append(&out_, "  Pointer Size:          %d\n  Segment Size:          0\n",
             cie.address_size);
    }
    Append(&out_,
           "  Code alignment factor: %" PRIu64
           "\n  Data alignment factor: %" PRId64
           "\n  Return address column: %" PRIu64 "\n",
           cie.code_alignment, cie.data_alignment, cie.ra_register);
    if (!cie.has_augmentation_data) out_ += '\n';
  }

  bool PrintFde(const CfiEntry& entry) {
    Cie cie;
    Fde fde;
    if (!ReadFde(source_, section_, entry.address, &cie, &fde)) return false;
    PrintEntryStart(entry);
    Append(&out_, "FDE cie=%08" PRIx64 " pc=%016" PRIx64 "..%016" PRIx64 "\n",
           Offset(entry.cie_address), fde.pc_begin, fde.pc_end);
    if (rows_) return PrintRows(cie, fde, fde.instructions);
    PrintAugmentationData(AugmentationData(Read(entry.body), false, cie));
    return PrintInstructions(cie, fde, fde.instructions);
  }

  // What 'z' says the length of (LSB 5.0 §10.6.1); the unwinder keeps no note
  // of where it was.
  static std::span<const uint8_t> AugmentationData(ByteReader body, bool is_cie,
                                                   const Cie& cie) {
    if (!cie.has_augmentation_data) return {};
    if (is_cie) {
      body.Skip(1);
      while (body.U8() != 0) {
      }
      if (cie.version == 4) body.Skip(2);
      body.Uleb128();
      body.Sleb128();
      cie.version == 1 ? body.U8() : body.Uleb128();
    } else {
      body.Skip(2 * EncodedPointerSize(cie.fde_encoding));
    }
    return body.Bytes(body.Uleb128());
  }

  void PrintAugmentationData(std::span<const uint8_t> data) {
    if (data.empty()) return;
    out_ += "  Augmentation data:    ";
    for (const uint8_t byte : data) Append(&out_, " %02x", byte);
    out_ += '\n';
  }

  // The rows of `fde`; `code` are the instructions of the entry itself. readelf
  // leaves the table out if they are nothing but nops.
  bool PrintRows(const Cie& cie, const Fde& fde, const AddressRange& code) {
    Columns columns;
    bool cie_is_nops = true, all_nops = true;
    if (!MarkColumns(cie, cie.instructions, &columns, &cie_is_nops) ||
        !MarkColumns(cie, code, &columns, &all_nops)) {
      return false;
    }
    if (all_nops) return true;
    PrintColumnHeads(columns, cie.ra_register);
    return machine_.ForEachRow(
        source_, section_, cie, fde, [&](const Row& row) {
          AppendHex(&out_, row.pc, 16);
          out_ += ' ';
          AppendPadded(&out_, CfaText(row.cfa), 8);
          out_ += ' ';
          ForEachColumn(columns, [&](size_t column) {
            AppendPadded(&out_, RuleText(row.registers[column]), 5);
            out_ += ' ';
          });
          out_ += '\n';
        });
  }

  void PrintColumnHeads(const Columns& columns, uint64_t ra_register) {
    out_ += "   LOC           CFA      ";
    ForEachColumn(columns, [&](size_t column) {
      Append(&out_, "%-5s ",
             column == ra_register ? "ra" : RegisterName(column).c_str());
    });
    out_ += '\n';
  }

  template <class Function>
  static void ForEachColumn(const Columns& columns, Function&& function) {
    for (size_t i = 0; i < kColumnCount; ++i) {
      if (columns.test(i)) function(i);
    }
  }

  bool MarkColumns(const Cie& cie, const AddressRange& code, Columns* columns,
                   bool* all_nops) {
    InstructionContext context{&section_, &cie, 0,
                               [](const AddressRange&) { return true; }};
    std::string text;
    for (ByteReader reader = Read(code); !reader.empty();) {
      text.clear();
      if (!AppendInstruction(reader, &context, columns, &text)) return false;
      *all_nops &= text == "DW_CFA_nop";
    }
    return true;
  }

  bool PrintInstructions(const Cie& cie, const Fde& fde,
                         const AddressRange& code) {
    const std::vector<AddressRange> expressions = Expressions(cie, fde);
    InstructionContext context{
        &section_, &cie, fde.pc_begin, [&](const AddressRange& range) {
          for (const AddressRange& known : expressions) {
            if (known.address == range.address && known.size == range.size) {
              return true;
            }
          }
          return false;
        }};
    Columns columns;
    for (ByteReader reader = Read(code); !reader.empty();) {
      out_ += "  ";
      if (!AppendInstruction(reader, &context, &columns, &out_)) return false;
      out_ += '\n';
    }
    return true;
  }

  // Those that the unwinder's rows have.
  std::vector<AddressRange> Expressions(const Cie& cie, const Fde& fde) {
    std::vector<AddressRange> expressions;
    machine_.ForEachRow(source_, section_, cie, fde, [&](const Row& row) {
      if (row.cfa.kind == CfaRule::Kind::kExpression) {
        expressions.push_back(row.cfa.expression());
      }
      for (const RegisterRule& rule : row.registers) {
        if (rule.kind == RuleKind::kExpression ||
            rule.kind == RuleKind::kValExpression) {
          expressions.push_back(rule.expression());
        }
      }
    });
    return expressions;
  }

  SpanSource source_;
  CfiSection section_;
  bool rows_;
  Machine machine_;
  std::string out_;
};

int Main(int argc, char** argv) {
  const bool rows = argc == 3 && strcmp(argv[1], "rows") == 0;
  if (argc != 3 || (!rows && strcmp(argv[1], "opcodes") != 0)) {
    fprintf(stderr, "usage: cfi_rows rows|opcodes FILE\n");
    return 2;
  }
  MappedFile file;
  if (const int error = file.Open(argv[2]); error != 0) {
    fprintf(stderr, "cfi_rows: %s: %s\n", argv[2], strerror(error));
    return 1;
  }
  ElfFile elf;
  if (const ElfError error = elf.Parse(file.bytes());
      error != ElfError::kNone) {
    fprintf(stderr, "cfi_rows: %s: %s\n", argv[2], ElfErrorText(error));
    return 1;
  }
  const auto section = elf.EhFrame();
  if (!section) return 0;
  return Dump(*section, rows).Print() ? 0 : 1;
}

}  // namespace
}  // namespace unspool::unwind

int main(int argc, char** argv) { return unspool::unwind::Main(argc, argv); }
