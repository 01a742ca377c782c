#include "exporters/symbolizer/dwp_index.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace unspool::exporters {
namespace {

constexpr uint64_t kHeaderSize = 16;
constexpr uint64_t kMaxColumns = 8;

// DWARF 5, table 7.1, and the GNU form, which have these in common but for the
// last.
const char* SectionName(uint32_t version, uint32_t id) {
  switch (id) {
    case 1:
      return ".debug_info";
    case 3:
      return ".debug_abbrev";
    case 4:
      return ".debug_line";
    case 6:
      return ".debug_str_offsets";
    case 8:
      return version == 5 ? ".debug_rnglists" : "";  // else .debug_macro
    default:
      return "";
  }
}

}  // namespace

uint32_t DwpIndex::Word(uint64_t offset) const {
  uint32_t word = 0;
  memcpy(&word, &bytes_[offset], sizeof(word));
  return word;
}

// Header: version (in DWARF 5 of 2 bytes and 2 of padding), columns, units,
// slots. Then 8 bytes of id per slot, 4 bytes of row number per slot, a row of
// section numbers, a row of offsets per unit, a row of sizes per unit.
bool DwpIndex::Parse(std::span<const uint8_t> bytes) {
  *this = DwpIndex();
  if (bytes.size() < kHeaderSize) return false;
  bytes_ = bytes;
  const uint32_t version = Word(0);
  const uint64_t columns = Word(4);
  const uint64_t units = Word(8);
  const uint64_t slots = Word(12);
  if ((version != 2 && version != 5) || columns > kMaxColumns ||
      !std::has_single_bit(slots) || units > slots) {
    return false;
  }
  const uint64_t size =
      kHeaderSize + slots * 12 + columns * 4 * (1 + 2 * units);
  if (size > bytes.size()) return false;
  for (uint64_t i = 0; i < columns; ++i) {
    sections_.push_back(
        SectionName(version, Word(kHeaderSize + slots * 12 + i * 4)));
  }
  slots_ = slots;
  units_ = units;
  columns_ = columns;
  return true;
}

std::optional<std::vector<DwpPart>> DwpIndex::Find(uint64_t id) const {
  const uint64_t mask = slots_ - 1;
  const uint64_t step = ((id >> 32) & mask) | 1;
  uint64_t slot = id & mask;
  for (uint64_t tried = 0; tried < slots_; ++tried) {
    const uint64_t row = Word(kHeaderSize + slots_ * 8 + slot * 4);
    if (row == 0 || row > units_) return std::nullopt;
    uint64_t found = 0;
    memcpy(&found, &bytes_[kHeaderSize + slot * 8], sizeof(found));
    if (found == id) {
      const uint64_t rows = kHeaderSize + slots_ * 12;
      std::vector<DwpPart> parts;
      for (uint64_t i = 0; i < columns_; ++i) {
        if (*sections_[i] == '\0') continue;
        parts.push_back(
            {.section = sections_[i],
             .offset = Word(rows + (row * columns_ + i) * 4),
             .size = Word(rows + ((units_ + row) * columns_ + i) * 4)});
      }
      return parts;
    }
    slot = (slot + step) & mask;
  }
  return std::nullopt;
}

}  // namespace unspool::exporters
