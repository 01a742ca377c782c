#include "tests/fuzz/exercise_cfi.h"

#include <cstdlib>
#include <memory>

#include "unwind/arch/x86_64/arch.h"
#include "unwind/cfi_lookup.h"
#include "unwind/cfi_machine.h"
#include "unwind/row_step.h"
#include "unwind/unwind_rule.h"

namespace unspool::fuzz {
namespace {

using unwind::CfiEntry;
using unwind::CfiEntryCursor;
using unwind::CfiSection;
using unwind::Cie;
using unwind::Fde;
using unwind::FdeLookup;
using unwind::SpanSource;
using unwind::StepStatus;
using unwind::X86_64;
using unwind::X86_64Registers;
using Row = unwind::CfiRow<X86_64>;

constexpr uint64_t kAddress = 0x10000;
constexpr size_t kMaxRowsApplied = 16;
constexpr size_t kMaxLookups = 2;  // each costs a look at the whole section

// Half of all words are readable, and hold their address.
class HalfMemory {
 public:
  bool Read(uint64_t address, size_t, uint64_t* value) {
    *value = address;
    return (address & 8) != 0;
  }
};

X86_64Registers SomeRegisters() {
  X86_64Registers registers;
  for (size_t i = 0; i < X86_64Registers::kCount; i += 1 + i % 3) {
    registers.Set(i, 0x7fff0000 + 64 * i);
  }
  return registers;
}

// Where there is a rule, it says what the row says.
void Apply(SpanSource source, const Row& row, const Cie& cie) {
  HalfMemory memory;
  const X86_64Registers frame = SomeRegisters();
  X86_64Registers by_row;
  X86_64Registers by_rule;
  unwind::RowStep<X86_64, HalfMemory, SpanSource> step(frame, memory, source,
                                                       0);
  const StepStatus status = step.Apply(row, cie.ra_register, &by_row);
  const auto rule = unwind::UnwindRule<X86_64>::Compile(row, cie.ra_register);
  if (!rule) return;
  if (rule->Apply(frame, memory, &by_rule) != status) std::abort();
  if (status != StepStatus::kOk) return;
  for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
    if (by_row.Has(i) != by_rule.Has(i)) std::abort();
    if (by_row.Get(i) != by_rule.Get(i)) std::abort();
  }
}

bool IsSame(const Row& a, const Row& b) {
  return a.pc == b.pc && a.cfa == b.cfa && a.registers == b.registers;
}

void LookUpAround(SpanSource source, const CfiSection& section,
                  const Fde& known) {
  for (const uint64_t pc : {known.pc_begin, known.pc_end}) {
    Cie cie;
    Fde fde;
    const FdeLookup found = FindFdeLinear(source, section, pc, &cie, &fde);
    if (known.Covers(pc) && found != FdeLookup::kFound) std::abort();
    if (found == FdeLookup::kFound && !fde.Covers(pc)) std::abort();
  }
}

}  // namespace

void ExerciseFde(SpanSource source, const CfiSection& section, const Cie& cie,
                 const Fde& fde) {
  static const auto machine = std::make_unique<unwind::CfiMachine<X86_64>>();
  size_t count = 0;
  Row last;
  last.pc = fde.pc_begin;
  const bool is_right =
      machine->ForEachRow(source, section, cie, fde, [&](const Row& row) {
        if (row.pc < last.pc) std::abort();
        last = row;
        if (++count < kMaxRowsApplied) Apply(source, row, cie);
      });
  if (!is_right) return;
  if (!machine->FindRow(source, section, cie, fde, last.pc)) std::abort();
  if (!IsSame(machine->row(), last)) std::abort();
}

void ExerciseSection(std::span<const uint8_t> bytes, unwind::CfiFormat format) {
  CfiSection section;
  section.format = format;
  section.address = kAddress;
  section.size = bytes.size();
  SpanSource source(bytes, kAddress);
  CfiEntryCursor cursor(section);
  CfiEntry entry;
  size_t fdes = 0;
  while (cursor.Next(source, &entry)) {
    Cie cie;
    Fde fde;
    if (entry.kind != CfiEntry::Kind::kFde ||
        !ReadFde(source, section, entry.address, &cie, &fde)) {
      continue;
    }
    ExerciseFde(source, section, cie, fde);
    if (++fdes <= kMaxLookups) LookUpAround(source, section, fde);
  }
}

}  // namespace unspool::fuzz
