// CIEs and FDEs, the two kinds of entry that call-frame information consists
// of: DWARF 5 §6.4.1 (.debug_frame), LSB 5.0 §10.6.1 (.eh_frame).
//
// Finding and parsing only: which FDE covers a PC is cfi_lookup.h's business,
// what its instructions mean is cfi_machine.h's.

#ifndef UNSPOOL_UNWIND_CFI_ENTRY_H_
#define UNSPOOL_UNWIND_CFI_ENTRY_H_

#include <cstddef>
#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/byte_source.h"
#include "unwind/pointer_encoding.h"

namespace unspool::unwind {

enum class CfiFormat : uint8_t { kEhFrame, kDebugFrame };

struct CfiSection {
  CfiFormat format = CfiFormat::kEhFrame;
  uint64_t address = 0;
  // May be more than the section has if it ends with a terminator, which only
  // .eh_frame does.
  uint64_t size = 0;
  // Then a terminator in the middle is that of an object which was linked in
  // there (GNU ld -r, --traditional-format), and more follows.
  bool has_exact_size = false;
  PointerBases bases;
  // Added to absolute pointers: the load bias where the bytes come from a file
  // and PCs are those of a process. 0 for a mapped .eh_frame, whose pointers
  // are relative or have been relocated.
  uint64_t bias = 0;
  uint8_t address_size = 8;
};

struct AddressRange {
  uint64_t address = 0;
  uint64_t size = 0;
};

// One entry's frame, CIE or FDE.
struct CfiEntry {
  enum class Kind : uint8_t { kCie, kFde, kTerminator };

  Kind kind = Kind::kTerminator;
  uint64_t address = 0;      // of its length field
  AddressRange body;         // what follows the CIE id or CIE pointer
  uint64_t cie_address = 0;  // kFde: of the CIE that it belongs to

  uint64_t end() const { return body.address + body.size; }
};

struct Cie {
  // That it was read in, if its bytes stay as they are (kIsPinned).
  const CfiSection* pinned_section = nullptr;
  uint64_t address = 0;
  uint8_t version = 0;
  uint8_t address_size = 8;
  uint8_t fde_encoding = dwarf::DW_EH_PE_absptr;
  bool has_augmentation_data = false;  // augmentation begins with 'z'
  bool is_signal_frame = false;        // 'S'
  uint64_t code_alignment = 1;
  int64_t data_alignment = 1;
  uint64_t ra_register = 0;
  AddressRange instructions;
};

struct Fde {
  uint64_t address = 0;
  uint64_t pc_begin = 0;
  uint64_t pc_end = 0;  // == pc_begin for the FDEs of discarded functions
  AddressRange instructions;

  bool Covers(uint64_t pc) const { return pc_begin <= pc && pc < pc_end; }
};

// The parsers proper. `reader` holds the entry's bytes from its length field on
// (ParseEntry; kEntryHeaderSize are enough), or its body. False if malformed,
// or if nobody can say what it means: an unknown version, address size, or
// augmentation without 'z' but for letters that have no data. Unknown letters
// after 'z' end the letters that are understood; their data is skipped by its
// length. Async-signal-safe.
inline constexpr size_t kEntryHeaderSize = 4 + 8 + 8;
bool ParseEntry(ByteReader& reader, const CfiSection& section, CfiEntry* entry);
bool ParseCie(ByteReader& reader, const CfiSection& section,
              const CfiEntry& entry, Cie* cie);
bool ParseFde(ByteReader& reader, const CfiSection& section,
              const CfiEntry& entry, const Cie& cie, Fde* fde);

// The same, reading from a source; besides the above, false if the bytes cannot
// be had or `address` is outside the section. Async-signal-safe.
template <ByteSource Source>
bool ReadEntry(Source& source, const CfiSection& section, uint64_t address,
               CfiEntry* entry) {
  if (address - section.address >= section.size) return false;
  ByteReader reader(source.Window(address, kEntryHeaderSize), address);
  return ParseEntry(reader, section, entry);
}

template <ByteSource Source>
bool ReadCie(Source& source, const CfiSection& section, uint64_t address,
             Cie* cie) {
  CfiEntry entry;
  if (!ReadEntry(source, section, address, &entry)) return false;
  if (entry.kind != CfiEntry::Kind::kCie) return false;
  const auto [body, size] = entry.body;
  ByteReader reader(
      source.Window(body, size < kMinWindowSize ? size : kMinWindowSize), body);
  if (!ParseCie(reader, section, entry, cie)) return false;
  if constexpr (kIsPinned<Source>) cie->pinned_section = &section;
  return true;
}

// Reads the FDE at `address` and its CIE, unless *cie is that already: most
// FDEs of a module have one.
template <ByteSource Source>
bool ReadFde(Source& source, const CfiSection& section, uint64_t address,
             Cie* cie, Fde* fde) {
  CfiEntry entry;
  if (!ReadEntry(source, section, address, &entry)) return false;
  if (entry.kind != CfiEntry::Kind::kFde) return false;
  const bool is_known = kIsPinned<Source> && cie->pinned_section == &section &&
                        cie->address == entry.cie_address;
  if (!is_known && !ReadCie(source, section, entry.cie_address, cie)) {
    return false;
  }
  const auto [body, size] = entry.body;
  ByteReader reader(
      source.Window(body, size < kMinWindowSize ? size : kMinWindowSize), body);
  return ParseFde(reader, section, entry, *cie, fde);
}

// Goes through the entries of a section, in its order. Async-signal-safe.
//
//   CfiEntryCursor cursor(section);
//   CfiEntry entry;
//   while (cursor.Next(source, &entry)) …
//   if (!cursor.ok()) … malformed: what follows cannot be found
class CfiEntryCursor {
 public:
  explicit CfiEntryCursor(const CfiSection& section)
      : CfiEntryCursor(section, section.address) {}
  // From the entry at `first` on.
  CfiEntryCursor(const CfiSection& section, uint64_t first)
      : section_(section), next_(first) {}

  // False at the section's end, at .eh_frame's terminator if its size is not
  // known exactly, and after an error. Other empty entries are skipped.
  template <ByteSource Source>
  bool Next(Source& source, CfiEntry* entry) {
    while (ok_ && next_ - section_.address < section_.size) {
      ok_ = ReadEntry(source, section_, next_, entry);
      if (!ok_) return false;
      next_ = entry->end();
      if (entry->kind != CfiEntry::Kind::kTerminator) return true;
      if (section_.format == CfiFormat::kEhFrame && !section_.has_exact_size) {
        return false;
      }
    }
    return false;
  }

  bool ok() const { return ok_; }

 private:
  CfiSection section_;
  uint64_t next_;
  bool ok_ = true;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_ENTRY_H_
