// Lists of address ranges: .debug_ranges (DWARF 4 §2.17.3) and .debug_rnglists
// (DWARF 5 §2.17.3, §7.25). libdw reads them too, but for a split unit it would
// have to know the unit's skeleton, which it finds by file names only.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_RANGE_LIST_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_RANGE_LIST_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace unspool::exporters {

// What a unit's range lists refer to. All is little-endian, addresses have 8
// bytes.
struct RangeLists {
  uint16_t version = 5;  // of the unit: below 5 the lists are pairs
  std::span<const uint8_t> lists;
  std::span<const uint8_t> addresses;  // .debug_addr from the unit's base on
  uint64_t base = 0;                   // the unit's DW_AT_low_pc
};

// The offset of the list with this number, DW_FORM_rnglistx, in lists of one
// unit; UINT64_MAX if there is none.
uint64_t OffsetOfRangeList(const RangeLists& unit, uint64_t index);

// The ranges [first, second) of the list at `offset`, up to its end or to what
// is malformed.
// Not async-signal-safe: allocates.
std::vector<std::pair<uint64_t, uint64_t>> ReadRangeList(const RangeLists& unit,
                                                         uint64_t offset);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_RANGE_LIST_H_
