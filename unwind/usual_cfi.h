// The rule for a PC where linkers and compilers have written what they nearly
// always write: a table of 4-byte numbers, a pcrel|sdata4 FDE of a CIE of
// x86-64, and few kinds of instructions. Says the same as cfi_finder.h in a
// quarter of the time, or nothing.

#ifndef UNSPOOL_UNWIND_USUAL_CFI_H_
#define UNSPOOL_UNWIND_USUAL_CFI_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/cfi_finder.h"
#include "unwind/elf_module.h"
#include "unwind/rule_program.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// Are its FDEs as ParseUsualFde() reads them? Async-signal-safe.
inline bool HasUsualFdes(const Cie& cie) {
  return cie.fde_encoding == (dwarf::DW_EH_PE_pcrel | dwarf::DW_EH_PE_sdata4) &&
         cie.has_augmentation_data;
}

// The CIEs of pinned modules that were met last: programs in C++ have two or
// three in turns. Zeroed memory has none. Async-signal-safe.
template <class Arch>
class UsualCies {
 public:
  // May RuleProgram execute the instructions of FDEs of the CIE at `address`?
  // Works in `state`.
  [[gnu::hot]] bool AreUsual(MappedSource& source, const CfiSection& section,
                             uint64_t address, CfiFinderState<Arch>* state) {
    for (const Entry& entry : entries_) {
      if (entry.address == address && entry.section == &section) {
        return entry.is_usual;
      }
    }
    Entry& entry = entries_[next_++ % entries_.size()];
    entry = {&section, address, IsUsual(source, section, address, state)};
    return entry.is_usual;
  }

 private:
  struct Entry {
    const CfiSection* section;
    uint64_t address;
    bool is_usual;
  };

  static bool IsUsual(MappedSource& source, const CfiSection& section,
                      uint64_t address, CfiFinderState<Arch>* state) {
    Cie& cie = state->cie;
    if (!ReadCie(source, section, address, &cie) || !HasUsualFdes(cie) ||
        cie.is_signal_frame || cie.code_alignment != 1 ||
        cie.data_alignment != -static_cast<int64_t>(Arch::kWordSize) ||
        !state->machine.FindRow(source, section, cie, Fde(), 0)) {
      return false;
    }
    const auto rule =
        UnwindRule<Arch>::Compile(state->machine.row(), cie.ra_register);
    return rule && rule->word() == RuleProgram<Arch>::Initial().word();
  }

  std::array<Entry, 4> entries_;
  unsigned next_;
};

template <class T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// An FDE as nearly all are: what its bytes hold, and where its CIE is.
struct UsualFde {
  uint64_t pc_begin = 0;
  uint64_t size = 0;
  uint64_t cie = 0;
  std::span<const uint8_t> instructions;
};

// The FDE at the beginning of `bytes`, which are those at `address` up to where
// its section ends at the latest. False: another kind of entry, or malformed.
// Async-signal-safe.
inline bool ParseUsualFde(std::span<const uint8_t> bytes, uint64_t address,
                          UsualFde* fde) {
  // Of its fields; the size of the augmentation data is a ULEB128.
  enum : size_t { kLength = 0, kCie = 4, kBegin = 8, kSize = 12, kData = 16 };
  constexpr size_t kHeadSize = kData + 1;
  // Else it would take long, if it is no FDE at all.
  constexpr uint32_t kMaxLength = 1 << 16;
  if (bytes.size() < kHeadSize) return false;
  const auto length = Load<uint32_t>(&bytes[kLength]);
  const auto cie_distance = Load<uint32_t>(&bytes[kCie]);
  const auto begin = Load<int32_t>(&bytes[kBegin]);
  const auto size = Load<int32_t>(&bytes[kSize]);
  const uint8_t data_size = bytes[kData];
  const size_t code = kHeadSize + data_size;
  const size_t end = kCie + size_t{length};
  fde->pc_begin = address + kBegin + static_cast<uint64_t>(int64_t{begin});
  fde->size = static_cast<uint32_t>(size);
  fde->cie = address + kCie - cie_distance;
  if (length > kMaxLength || end + kRuleProgramMargin > bytes.size() ||
      code > end || cie_distance == 0 || begin == 0 || size <= 0 ||
      data_size >= 0x80) {
    return false;
  }
  fde->instructions = {&bytes[code], end - code};
  return true;
}

// The FDE of `pc` by a usual table, if its CIE HasUsualFdes(). False where it
// takes a closer look, as where another one begins at the same place.
// Async-signal-safe.
//
// Inlined: through memory, what it finds would take longer to come back than
// the rest.
template <ByteSource Source>
[[gnu::always_inline]] inline bool FindUsualFde(
    Source& source, const UnwindSource& unwind_source, uint64_t pc,
    UsualFde* fde) {
  const CfiSection& section = unwind_source.section;
  const EhFrameHdr& hdr = unwind_source.hdr;
  constexpr size_t kEntry = EhFrameHdr::kUsualEntrySize;
  if (!hdr.is_usual() || section.format != CfiFormat::kEhFrame) return false;
  const auto table = source.Window(hdr.table, hdr.count * kEntry);
  if (table.size() != hdr.count * kEntry) return false;
  const uint64_t count = CountRelativeUpTo(table, hdr.address, pc);
  if (count < 2) return false;
  const auto at = [&](size_t offset) {
    const auto relative = Load<int32_t>(&table[offset]);
    return hdr.address + static_cast<uint64_t>(int64_t{relative});
  };
  const uint64_t address = at((count - 1) * kEntry + kEntry / 2);
  const uint64_t offset = address - section.address;
  return offset < section.size &&
         ParseUsualFde(source.Window(address, section.size - offset), address,
                       fde) &&
         fde->pc_begin <= pc && pc < fde->pc_begin + fde->size &&
         at((count - 2) * kEntry) != fde->pc_begin;
}

// The rule for `pc`, a look-up PC in a pinned module; the zero word where
// something is unusual: FindCfi() knows. `cies` and `state` are of the walk's
// scratch. Async-signal-safe.
template <class Arch>
[[gnu::hot]] UnwindRule<Arch> FindUsualRule(const LoadedModule& loaded,
                                            uint64_t pc, UsualCies<Arch>& cies,
                                            CfiFinderState<Arch>* state) {
  if (loaded.source_count == 0) return {};
  const UnwindSource& unwind_source = loaded.sources[0];
  MappedSource source(loaded);
  UsualFde fde;
  if (!FindUsualFde(source, unwind_source, pc, &fde) ||
      !cies.AreUsual(source, unwind_source.section, fde.cie, state)) {
    return {};
  }
  return RuleProgram<Arch>(fde.instructions).RunTo(pc - fde.pc_begin);
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_USUAL_CFI_H_
