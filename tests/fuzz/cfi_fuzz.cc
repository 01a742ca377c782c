// Input: an .eh_frame section. Every entry is parsed, every row of every FDE
// executed, compiled and applied; what the row at a PC is must not depend on
// the way that led to it.

#include <cstdlib>
#include <memory>

#include "tests/fuzz/fuzz_seeds.h"
#include "unwind/arch/x86_64/arch.h"
#include "unwind/cfi_lookup.h"
#include "unwind/cfi_machine.h"
#include "unwind/row_step.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {
namespace {

constexpr uint64_t kAddress = 0x10000;

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

void Apply(SpanSource source, const CfiRow<X86_64>& row, const Cie& cie) {
  HalfMemory memory;
  const X86_64Registers frame = SomeRegisters();
  X86_64Registers by_row;
  X86_64Registers by_rule;
  RowStep<X86_64, HalfMemory, SpanSource> step(frame, memory, source, 0);
  const StepStatus status = step.Apply(row, cie.ra_register, &by_row);
  const auto rule = UnwindRule<X86_64>::Compile(row, cie.ra_register);
  if (!rule) return;
  // Where there is a rule, it says what the row says.
  if (rule->Apply(frame, memory, &by_rule) != status) std::abort();
  if (status != StepStatus::kOk) return;
  for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
    if (by_row.Has(i) != by_rule.Has(i)) std::abort();
    if (by_row.Get(i) != by_rule.Get(i)) std::abort();
  }
}

void RunFde(SpanSource source, const CfiSection& section, uint64_t address) {
  Cie cie;
  Fde fde;
  if (!ReadFde(source, section, address, &cie, &fde)) return;
  static const auto machine = std::make_unique<CfiMachine<X86_64>>();
  size_t count = 0;
  uint64_t last_pc = fde.pc_begin;
  machine->ForEachRow(source, section, cie, fde, [&](const auto& row) {
    if (row.pc < last_pc) std::abort();
    last_pc = row.pc;
    if (++count < 64) Apply(source, row, cie);
  });
  if (machine->FindRow(source, section, cie, fde, last_pc)) {
    if (machine->row().pc > last_pc) std::abort();
  }
}

}  // namespace
}  // namespace unspool::unwind

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace unspool::unwind;
  for (const auto format : {CfiFormat::kEhFrame, CfiFormat::kDebugFrame}) {
    CfiSection section;
    section.format = format;
    section.address = kAddress;
    section.size = size;
    SpanSource source({data, size}, kAddress);
    CfiEntryCursor cursor(section);
    CfiEntry entry;
    while (cursor.Next(source, &entry)) {
      if (entry.kind == CfiEntry::Kind::kFde) {
        RunFde(source, section, entry.address);
      }
    }
    Cie cie;
    Fde fde;
    FindFdeLinear(source, section, 0x20004, &cie, &fde);
  }
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"compiled_function", R"(
        14 00 00 00  00 00 00 00    # CIE of 20 bytes
        01  7a 52 00                # version 1, "zR"
        01 78 10                    # code 1, data -8, RA in 16
        01 1b                       # FDEs: pcrel|sdata4
        0c 07 08  90 01             # CFA = rsp+8, RA at CFA-8
        00 00
        20 00 00 00  1c 00 00 00    # FDE of 32 bytes
        e0 ff 00 00  40 00 00 00    # PC 0x20000, 64 bytes
        00
        41 0e 10 86 02              # 1: push rbp
        43 0d 06                    # 4: mov rsp, rbp
        0a                          # remember
        02 20 c6 0c 07 08           # 36: pop, ret
        41 0b                       # 37: restore
        00 00
        00 00 00 00                 # terminator
      )"},
      {"signal_frame", R"(
        16 00 00 00  00 00 00 00
        01  7a 52 53 00  01 78 10   # "zRS"
        01 1b  00 00 00 00 00 00 00 00
        30 00 00 00  1e 00 00 00
        de ff 00 00  09 00 00 00  00
        0f 04 77 a0 01 06           # CFA = *(rsp+160)
        10 10 03 77 a8 01           # RA saved at rsp+168
        16 06 03 77 f8 00           # rbp is rsp+120
        09 07 08                    # rsp in r8
        2e 10  07 03  08 0c         # args size, undefined, same value
        14 0d 02  15 0e 7e          # val_offset, val_offset_sf
        00 00
      )"},
      {"personality_and_64bit", R"(
        ff ff ff ff 20 00 00 00 00 00 00 00  00 00 00 00
        03  7a 50 4c 52 00          # version 3, "zPLR"
        01 78 10
        07 9b 01 02 03 04 1b 1b     # personality, LSDA, FDE encodings
        0c 07 08  90 01
        00 00 00 00 00 00
        13 00 00 00  30 00 00 00
        00 01 00 00  10 00 00 00
        04 00 00 00 00  00 00
      )"},
      {"debug_frame_version_4", R"(
        14 00 00 00  ff ff ff ff
        04 00 08 00                 # version 4, addresses of 8, no segments
        01 78 10
        0c 07 08  90 01
        00 00 00 00
        1f 00 00 00  00 00 00 00
        00 00 02 00 00 00 00 00  10 00 00 00 00 00 00 00
        01 04 00 02 00 00 00 00 00  # set_loc 0x20004
        0e 20
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
