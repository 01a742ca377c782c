#include "profiler/cli/cfi_dump.h"

#include <cinttypes>
#include <span>
#include <string>

#include "profiler/cli/cfi_text.h"
#include "profiler/cli/message.h"
#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"
#include "unwind/cfi_machine.h"
#include "unwind/cfi_row.h"
#include "unwind/dwarf_constants.h"
#include "unwind/pointer_encoding.h"

namespace unspool::profiler {
namespace {

using unwind::AddressRange;
using unwind::ByteReader;
using unwind::CfaRule;
using unwind::CfiEntry;
using unwind::CfiFormat;
using unwind::CfiSection;
using unwind::Cie;
using unwind::Fde;
using unwind::RegisterRule;
using unwind::RuleKind;

// All columns that an x86-64 compiler may write, where the unwinder's own
// architecture keeps those that it restores.
struct AllColumns {
  static constexpr size_t kRegisterCount = kColumnCount;
};
using Machine = unwind::CfiMachine<AllColumns>;
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
  Dump(const CfiContents& contents, const CfiDumpRequest& request,
       std::ostream& out)
      : contents_(contents),
        section_(contents.section),
        request_(request),
        source_(contents.bytes, contents.section.address),
        stream_(out) {}

  CfiDumpResult Print() {
    out_ = "Contents of the " + contents_.name + " section:\n\n";
    uint64_t next = section_.address;
    while (next - section_.address < section_.size && stream_.good()) {
      CfiEntry entry;
      if (!ReadEntry(source_, section_, next, &entry)) {
        result_.is_cut = true;
        NoteBad(next);
        break;
      }
      next = entry.end();
      if (entry.kind != CfiEntry::Kind::kTerminator) {
        PrintEntry(entry);
      } else {
        if (!request_.pc) PrintTerminator(entry);
        if (contents_.ends_at_terminator) break;
        next = SkipZeros(next);
      }
      if (out_.size() > kFlushAt) Flush();
    }
    out_ += '\n';
    Flush();
    return result_;
  }

 private:
  static constexpr size_t kFlushAt = 1 << 16;

  void Flush() {
    stream_ << out_;
    out_.clear();
  }

  uint64_t Offset(uint64_t address) const { return address - section_.address; }

  ByteReader Read(const AddressRange& range) const {
    return {source_.Window(range.address, range.size), range.address};
  }

  void NoteBad(uint64_t address) {
    Append(&out_, "\n%08" PRIx64 " malformed\n", Offset(address));
    if (result_.bad_entries++ == 0) result_.first_bad_offset = Offset(address);
  }

  void PrintTerminator(const CfiEntry& entry) {
    Append(&out_, "\n%08" PRIx64 " ZERO terminator\n\n", Offset(entry.address));
  }

  // readelf shows a run of terminators as one.
  uint64_t SkipZeros(uint64_t address) const {
    ByteReader reader = Read({address, section_.size - Offset(address)});
    while (reader.remaining() >= sizeof(uint32_t) && reader.U32() == 0) {
      address = reader.address();
    }
    return address;
  }

  void PrintEntry(const CfiEntry& entry) {
    const bool is_right = entry.kind == CfiEntry::Kind::kCie
                              ? request_.pc || PrintCie(entry)
                              : PrintFde(entry);
    if (!is_right) NoteBad(entry.address);
  }

  // Offset, length, and the CIE id or pointer that the body follows.
  void PrintEntryStart(const CfiEntry& entry) {
    constexpr uint64_t kHeaderOf64BitDebugFrame = 4 + 8 + 8;
    const bool is_eh = section_.format == CfiFormat::kEhFrame;
    const bool is_64bit = !is_eh && entry.body.address - entry.address ==
                                        kHeaderOf64BitDebugFrame;
    const uint64_t id_size = is_64bit ? sizeof(uint64_t) : sizeof(uint32_t);
    uint64_t id = is_64bit ? UINT64_MAX : UINT32_MAX;
    if (entry.kind == CfiEntry::Kind::kFde) {
      id = is_eh ? entry.body.address - id_size - entry.cie_address
                 : Offset(entry.cie_address);
    } else if (is_eh) {
      id = 0;
    }
    Append(&out_, "\n%08" PRIx64 " %016" PRIx64 " ", Offset(entry.address),
           entry.body.size + id_size);
    AppendHex(&out_, id, static_cast<int>(2 * id_size));
    out_ += ' ';
  }

  bool PrintCie(const CfiEntry& entry) {
    Cie cie;
    if (!ReadCie(source_, section_, entry.address, &cie)) return false;
    // Its version is one byte; then follows the string.
    const auto body = source_.Window(entry.body.address, entry.body.size);
    const std::string augmentation =
        OneLine(reinterpret_cast<const char*>(body.data()) + 1);
    PrintEntryStart(entry);
    if (!request_.is_raw) {
      Append(&out_, "CIE \"%s\" cf=%" PRIu64 " df=%" PRId64 " ra=%" PRIu64 "\n",
             augmentation.c_str(), cie.code_alignment, cie.data_alignment,
             cie.ra_register);
      Fde no_fde;
      return PrintRows(cie, no_fde, cie.instructions);
    }
    PrintCieFields(cie, augmentation);
    PrintAugmentationData(AugmentationData(Read(entry.body), true, cie));
    return PrintInstructions(cie, 0, cie.instructions);
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
    if (contents_.is_relocated) MendStart(entry, cie, &fde);
    if (request_.pc && !fde.Covers(*request_.pc)) return true;
    ++result_.fdes;
    if (request_.pc && request_.is_raw) PrintCieOf(entry);
    PrintEntryStart(entry);
    Append(&out_, "FDE cie=%08" PRIx64 " pc=%016" PRIx64 "..%016" PRIx64 "\n",
           Offset(entry.cie_address), fde.pc_begin, fde.pc_end);
    if (!request_.is_raw) return PrintRows(cie, fde, fde.instructions);
    PrintAugmentationData(AugmentationData(Read(entry.body), false, cie));
    return PrintInstructions(cie, fde.pc_begin, fde.instructions);
  }

  // Where every section is at 0, a function may begin at the address that its
  // own pointer has: the difference is 0, which elsewhere is a null pointer.
  void MendStart(const CfiEntry& entry, const Cie& cie, Fde* fde) const {
    ByteReader stored = Read(entry.body);
    if ((cie.fde_encoding & 0x70) != unwind::dwarf::DW_EH_PE_pcrel ||
        unwind::ReadEncodedLength(stored, cie.fde_encoding) != 0) {
      return;
    }
    fde->pc_begin += entry.body.address;
    fde->pc_end += entry.body.address;
  }

  void PrintCieOf(const CfiEntry& fde) {
    CfiEntry cie;
    if (ReadEntry(source_, section_, fde.cie_address, &cie)) PrintCie(cie);
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
      for (int i = 0; i < 2; ++i) {  // the start and the length
        unwind::ReadEncodedLength(body, cie.fde_encoding, cie.address_size);
      }
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
    if (request_.pc) {
      if (!machine_.FindRow(source_, section_, cie, fde, *request_.pc)) {
        return false;
      }
      PrintColumnHeads(columns, cie.ra_register);
      PrintRow(machine_.row(), columns);
      return true;
    }
    if (all_nops) return true;
    PrintColumnHeads(columns, cie.ra_register);
    return machine_.ForEachRow(source_, section_, cie, fde,
                               [&](const Row& row) { PrintRow(row, columns); });
  }

  void PrintRow(const Row& row, const Columns& columns) {
    AppendHex(&out_, row.pc, 16);
    out_ += ' ';
    AppendPadded(&out_, CfaText(row.cfa), 8);
    out_ += ' ';
    ForEachColumn(columns, [&](size_t column) {
      AppendPadded(&out_, RuleText(row.registers[column]), 5);
      out_ += ' ';
    });
    out_ += '\n';
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
    InstructionContext context{&section_, &cie, 0};
    std::string text;
    for (ByteReader reader = Read(code); !reader.empty();) {
      text.clear();
      if (!AppendInstruction(reader, &context, columns, &text)) return false;
      *all_nops &= text == "DW_CFA_nop";
    }
    return true;
  }

  bool PrintInstructions(const Cie& cie, uint64_t pc,
                         const AddressRange& code) {
    InstructionContext context{&section_, &cie, pc};
    Columns columns;
    for (ByteReader reader = Read(code); !reader.empty();) {
      out_ += "  ";
      if (!AppendInstruction(reader, &context, &columns, &out_)) {
        out_ += '\n';
        return false;
      }
      out_ += '\n';
      if (out_.size() > kFlushAt) Flush();
    }
    return true;
  }

  const CfiContents& contents_;
  const CfiSection& section_;
  const CfiDumpRequest& request_;
  unwind::SpanSource source_;
  std::ostream& stream_;
  CfiDumpResult result_;
  Machine machine_;
  std::string out_;
};

}  // namespace

CfiDumpResult DumpCfi(const CfiContents& contents,
                      const CfiDumpRequest& request, std::ostream& out) {
  return Dump(contents, request, out).Print();
}

}  // namespace unspool::profiler
