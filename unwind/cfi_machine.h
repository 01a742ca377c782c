// Executes call-frame instructions (DWARF 5 §6.4.2) into rows.
//
// Fixed memory and a limit on instructions: malformed programs end, they do not
// hang. An instruction that is not known makes the whole FDE unusable, because
// nobody can say what the rows behind it are.

#ifndef UNSPOOL_UNWIND_CFI_MACHINE_H_
#define UNSPOOL_UNWIND_CFI_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"
#include "unwind/cfi_row.h"
#include "unwind/dwarf_constants.h"

namespace unspool::unwind {

// About 3 KiB: not for a signal handler's stack. All members are
// async-signal-safe.
template <class Arch>
class CfiMachine {
 public:
  using Row = CfiRow<Arch>;

  // The row of `fde` that holds at `pc`, in row(). False if the instructions
  // are malformed, unknown, too many, or cannot be read. `pc` is a look-up PC
  // (LookupPc) that the FDE covers.
  template <ByteSource Source>
  bool FindRow(Source& source, const CfiSection& section, const Cie& cie,
               const Fde& fde, uint64_t pc) {
    auto stop_behind_pc = [&](uint64_t next_pc) { return next_pc > pc; };
    return RunInitial(source, section, cie, fde) &&
           Run(source, fde.instructions, stop_behind_pc);
  }

  // Calls on_row(const Row&) for each row of `fde` in the order of its
  // instructions: one before each instruction that moves the location, and the
  // last. False as in FindRow; the rows before were right.
  template <ByteSource Source, class OnRow>
  bool ForEachRow(Source& source, const CfiSection& section, const Cie& cie,
                  const Fde& fde, OnRow&& on_row) {
    auto report = [&](uint64_t) {
      on_row(row());
      return false;
    };
    if (!RunInitial(source, section, cie, fde)) return false;
    if (!Run(source, fde.instructions, report)) return false;
    on_row(row());
    return true;
  }

  // The row after FindRow; its expressions are in the FDE's section.
  const Row& row() const { return row_; }

 private:
  static constexpr size_t kMaxRemembered = 8;
  static constexpr uint32_t kMaxInstructions = 1 << 16;
  // No instruction but a long expression needs more bytes at once.
  static constexpr size_t kRefillBelow = kMinWindowSize / 2;

  // The CIE's instructions; what they leave is what DW_CFA_restore goes back
  // to.
  template <ByteSource Source>
  bool RunInitial(Source& source, const CfiSection& section, const Cie& cie,
                  const Fde& fde) {
    section_ = &section;
    cie_ = &cie;
    function_ = fde.pc_begin;
    instructions_left_ = kMaxInstructions;
    remembered_count_ = 0;
    if (cie.pinned_section == nullptr ||
        cie.pinned_section != initial_section_ ||
        cie.address != initial_address_) {
      if (!RunCie(source, cie)) return false;
    }
    row_ = initial_;
    row_.pc = fde.pc_begin;
    cfa_offset_ = initial_cfa_offset_;
    return true;
  }

  template <ByteSource Source>
  bool RunCie(Source& source, const Cie& cie) {
    initial_section_ = nullptr;
    initial_ = Row();
    row_ = Row();
    cfa_offset_ = 0;
    bool moved = false;  // which only an FDE's instructions may do
    auto on_move = [&](uint64_t) { return moved = true; };
    if (!Run(source, cie.instructions, on_move) || moved) return false;
    initial_ = row_;
    initial_cfa_offset_ = cfa_offset_;
    initial_address_ = cie.address;
    // What it has remembered, for the FDE to go back to, is not kept.
    if (remembered_count_ == 0) initial_section_ = cie.pinned_section;
    return true;
  }

  // Executes `code`; before the location moves asks on_move(next location),
  // which ends the run by returning true.
  template <ByteSource Source, class OnMove>
  bool Run(Source& source, AddressRange code, OnMove&& on_move) {
    uint64_t left = code.size;
    uint64_t address = code.address;
    ByteReader reader({}, address);
    while (left > 0) {
      if (reader.remaining() < kRefillBelow && reader.remaining() < left) {
        const size_t want = left < SIZE_MAX ? left : SIZE_MAX;
        reader = ByteReader(source.Window(address, want), address);
      }
      if (instructions_left_-- == 0) return false;
      uint64_t next_pc = row_.pc;
      const bool moved = Execute(reader, &next_pc);
      if (!reader.ok()) return false;
      if (moved) {
        if (next_pc < row_.pc) return false;
        if (on_move(next_pc)) return true;
        row_.pc = next_pc;
      }
      left -= reader.address() - address;
      address = reader.address();
    }
    return true;
  }

  // One instruction; fails the reader if it makes no sense. True if it moves
  // the location, to *next_pc.
  bool Execute(ByteReader& reader, uint64_t* next_pc);
  bool ExecuteAdvance(uint8_t opcode, ByteReader& reader, uint64_t* next_pc);
  bool ExecuteCfa(uint8_t opcode, ByteReader& reader);
  bool ExecuteRule(uint8_t opcode, ByteReader& reader);
  bool ExecuteState(uint8_t opcode, ByteReader& reader);

  void SetRule(uint64_t number, const RegisterRule& rule) {
    if (number < Arch::kRegisterCount) row_.registers[number] = rule;
  }
  void SetOffset(RuleKind kind, uint64_t number, int64_t factored) {
    // Multiplied as unsigned: hostile factors may overflow.
    const uint64_t offset = static_cast<uint64_t>(factored) *
                            static_cast<uint64_t>(cie_->data_alignment);
    SetRule(number, {kind, 0, static_cast<int64_t>(offset)});
  }
  void Restore(uint64_t number) {
    if (number < Arch::kRegisterCount) {
      row_.registers[number] = initial_.registers[number];
    }
  }
  // A block of expression bytes: keeps where it is, not what it says.
  static AddressRange SkipBlock(ByteReader& reader) {
    const uint64_t size = reader.Uleb128();
    const uint64_t address = reader.address();
    reader.Skip(size);
    return {address, size};
  }

  const CfiSection* section_ = nullptr;
  const Cie* cie_ = nullptr;
  uint64_t function_ = 0;
  uint32_t instructions_left_ = 0;
  uint32_t remembered_count_ = 0;
  Row row_;
  // What a CIE's instructions leave, and whose that is.
  Row initial_;
  int64_t initial_cfa_offset_ = 0;
  const CfiSection* initial_section_ = nullptr;
  uint64_t initial_address_ = 0;
  // The CFA's offset while an expression has taken its place in the row.
  int64_t cfa_offset_ = 0;
  // What DW_CFA_remember_state keeps: registers and CFA.
  struct State {
    Row row;
    int64_t cfa_offset;
  };
  std::array<State, kMaxRemembered> remembered_;
};

template <class Arch>
bool CfiMachine<Arch>::Execute(ByteReader& reader, uint64_t* next_pc) {
  using namespace dwarf;
  const uint8_t opcode = reader.U8();
  const uint8_t operand = opcode & DW_CFA_operand_mask;
  switch (opcode & DW_CFA_primary_mask) {
    case DW_CFA_advance_loc:
      *next_pc = row_.pc + operand * cie_->code_alignment;
      return true;
    case DW_CFA_offset:
      SetOffset(RuleKind::kOffset, operand,
                static_cast<int64_t>(reader.Uleb128()));
      return false;
    case DW_CFA_restore:
      Restore(operand);
      return false;
    default:
      break;
  }
  if (ExecuteAdvance(opcode, reader, next_pc)) return true;
  const bool known = ExecuteCfa(opcode, reader) ||
                     ExecuteRule(opcode, reader) ||
                     ExecuteState(opcode, reader);
  if (!known) reader.Fail();
  return false;
}

// DWARF 5 §6.4.2.1.
template <class Arch>
bool CfiMachine<Arch>::ExecuteAdvance(uint8_t opcode, ByteReader& reader,
                                      uint64_t* next_pc) {
  using namespace dwarf;
  uint64_t delta = 0;
  switch (opcode) {
    case DW_CFA_set_loc: {
      PointerBases bases = section_->bases;
      bases.function = function_;
      const EncodedPointer pointer = ReadEncodedPointer(
          reader, cie_->fde_encoding, bases, cie_->address_size);
      if (pointer.indirect) reader.Fail();
      *next_pc = pointer.value;
      if ((cie_->fde_encoding & 0x70) == DW_EH_PE_absptr) {
        *next_pc += section_->bias;
      }
      return true;
    }
    case DW_CFA_advance_loc1:
      delta = reader.U8();
      break;
    case DW_CFA_advance_loc2:
      delta = reader.U16();
      break;
    case DW_CFA_advance_loc4:
      delta = reader.U32();
      break;
    case DW_CFA_MIPS_advance_loc8:
      delta = reader.U64();
      break;
    default:
      return false;
  }
  *next_pc = row_.pc + delta * cie_->code_alignment;
  return true;
}

// DWARF 5 §6.4.2.2. There, the forms that change one half of the rule are valid
// only while it is register + offset. Real code (libgcrypt's AVX2 SHA-512) also
// goes back from an expression by DW_CFA_def_cfa_register, and its consumers
// agree that the offset from before the expression stands again.
template <class Arch>
bool CfiMachine<Arch>::ExecuteCfa(uint8_t opcode, ByteReader& reader) {
  using namespace dwarf;
  using Kind = CfaRule::Kind;
  const auto factored = [&] {
    return static_cast<int64_t>(static_cast<uint64_t>(reader.Sleb128()) *
                                static_cast<uint64_t>(cie_->data_alignment));
  };
  CfaRule& cfa = row_.cfa;
  const auto set_register = [&](uint64_t number) {
    if (number > UINT32_MAX) reader.Fail();
    cfa = {Kind::kRegisterOffset, static_cast<uint32_t>(number), cfa_offset_};
  };
  switch (opcode) {
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf: {
      const uint64_t number = reader.Uleb128();
      cfa_offset_ = opcode == DW_CFA_def_cfa
                        ? static_cast<int64_t>(reader.Uleb128())
                        : factored();
      set_register(number);
      return true;
    }
    case DW_CFA_def_cfa_register:
      if (cfa.kind == Kind::kNone) reader.Fail();
      set_register(reader.Uleb128());
      return true;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
      if (cfa.kind == Kind::kNone) reader.Fail();
      cfa_offset_ = opcode == DW_CFA_def_cfa_offset
                        ? static_cast<int64_t>(reader.Uleb128())
                        : factored();
      if (cfa.kind == Kind::kRegisterOffset) cfa.value = cfa_offset_;
      return true;
    case DW_CFA_def_cfa_expression: {
      const AddressRange block = SkipBlock(reader);
      cfa = {Kind::kExpression, static_cast<uint32_t>(block.size),
             static_cast<int64_t>(block.address)};
      return true;
    }
    default:
      return false;
  }
}

// DWARF 5 §6.4.2.3.
template <class Arch>
bool CfiMachine<Arch>::ExecuteRule(uint8_t opcode, ByteReader& reader) {
  using namespace dwarf;
  if ((opcode < DW_CFA_offset_extended || opcode > DW_CFA_register) &&
      (opcode < DW_CFA_expression || opcode > DW_CFA_val_expression) &&
      opcode != DW_CFA_GNU_negative_offset_extended) {
    return false;
  }
  const uint64_t number = reader.Uleb128();
  switch (opcode) {
    case DW_CFA_undefined:
      SetRule(number, {RuleKind::kUndefined, 0, 0});
      return true;
    case DW_CFA_same_value:
      SetRule(number, {RuleKind::kSameValue, 0, 0});
      return true;
    case DW_CFA_restore_extended:
      Restore(number);
      return true;
    case DW_CFA_offset_extended:
      SetOffset(RuleKind::kOffset, number,
                static_cast<int64_t>(reader.Uleb128()));
      return true;
    case DW_CFA_offset_extended_sf:
      SetOffset(RuleKind::kOffset, number, reader.Sleb128());
      return true;
    case DW_CFA_GNU_negative_offset_extended:
      SetOffset(RuleKind::kOffset, number,
                static_cast<int64_t>(0 - reader.Uleb128()));
      return true;
    case DW_CFA_val_offset:
      SetOffset(RuleKind::kValOffset, number,
                static_cast<int64_t>(reader.Uleb128()));
      return true;
    case DW_CFA_val_offset_sf:
      SetOffset(RuleKind::kValOffset, number, reader.Sleb128());
      return true;
    case DW_CFA_register: {
      const uint64_t source = reader.Uleb128();
      if (source > UINT32_MAX) reader.Fail();
      SetRule(number, {RuleKind::kRegister, static_cast<uint32_t>(source), 0});
      return true;
    }
    case DW_CFA_expression:
    case DW_CFA_val_expression: {
      const AddressRange block = SkipBlock(reader);
      SetRule(number, {opcode == DW_CFA_expression ? RuleKind::kExpression
                                                   : RuleKind::kValExpression,
                       static_cast<uint32_t>(block.size),
                       static_cast<int64_t>(block.address)});
      return true;
    }
    default:
      return false;  // between the ranges above: not a rule
  }
}

// DWARF 5 §6.4.2.4 and §6.4.2.5.
template <class Arch>
bool CfiMachine<Arch>::ExecuteState(uint8_t opcode, ByteReader& reader) {
  using namespace dwarf;
  switch (opcode) {
    case DW_CFA_nop:
      return true;
    case DW_CFA_GNU_args_size:
      reader.Uleb128();  // for landing pads, not for walking
      return true;
    case DW_CFA_remember_state:
      if (remembered_count_ == kMaxRemembered) {
        reader.Fail();
        return true;
      }
      remembered_[remembered_count_++] = {row_, cfa_offset_};
      return true;
    case DW_CFA_restore_state: {
      if (remembered_count_ == 0) {
        reader.Fail();
        return true;
      }
      const uint64_t pc = row_.pc;
      row_ = remembered_[--remembered_count_].row;
      row_.pc = pc;
      cfa_offset_ = remembered_[remembered_count_].cfa_offset;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_MACHINE_H_
