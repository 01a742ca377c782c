#include "exporters/symbolizer/range_list.h"

#include <dwarf.h>

#include <cstddef>
#include <cstring>

#include "unwind/byte_reader.h"

namespace unspool::exporters {
namespace {

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

// Pairs of offsets from a base; the largest number is followed by a new base.
Ranges ReadPairs(const RangeLists& unit, unwind::ByteReader& reader) {
  Ranges ranges;
  uint64_t base = unit.base;
  while (!reader.empty()) {
    const uint64_t start = reader.U64();
    const uint64_t end = reader.U64();
    if (!reader.ok() || (start == 0 && end == 0)) break;
    if (start == UINT64_MAX) {
      base = end;
    } else {
      ranges.emplace_back(base + start, base + end);
    }
  }
  return ranges;
}

class EntryReader {
 public:
  EntryReader(const RangeLists& unit, unwind::ByteReader& reader)
      : unit_(unit), reader_(reader), base_(unit.base) {}

  Ranges Read() {
    while (!reader_.empty() && ReadEntry()) {
    }
    return std::move(ranges_);
  }

 private:
  uint64_t Address() {
    const uint64_t index = reader_.Uleb128();
    uint64_t address = 0;
    if (index >= unit_.addresses.size() / sizeof(address)) {
      reader_.Fail();
      return 0;
    }
    memcpy(&address, &unit_.addresses[index * sizeof(address)],
           sizeof(address));
    return address;
  }

  void Add(uint64_t start, uint64_t end) {
    if (reader_.ok()) ranges_.emplace_back(start, end);
  }

  // False at the end of the list.
  bool ReadEntry() {
    uint64_t start = 0;
    switch (reader_.U8()) {
      case DW_RLE_base_addressx:
        base_ = Address();
        return true;
      case DW_RLE_base_address:
        base_ = reader_.U64();
        return true;
      case DW_RLE_startx_endx:
        start = Address();
        Add(start, Address());
        return true;
      case DW_RLE_startx_length:
        start = Address();
        Add(start, start + reader_.Uleb128());
        return true;
      case DW_RLE_offset_pair:
        start = base_ + reader_.Uleb128();
        Add(start, base_ + reader_.Uleb128());
        return true;
      case DW_RLE_start_end:
        start = reader_.U64();
        Add(start, reader_.U64());
        return true;
      case DW_RLE_start_length:
        start = reader_.U64();
        Add(start, start + reader_.Uleb128());
        return true;
      default:  // DW_RLE_end_of_list, or nothing that could be skipped
        return false;
    }
  }

  const RangeLists& unit_;
  unwind::ByteReader& reader_;
  uint64_t base_;
  Ranges ranges_;
};

constexpr uint64_t kNoOffset = UINT64_MAX;

}  // namespace

// DWARF 5 §7.28: length, version (2 bytes), two sizes of a byte, the number of
// offsets; then those, from their own beginning on.
uint64_t OffsetOfRangeList(const RangeLists& unit, uint64_t index) {
  unwind::ByteReader reader(unit.lists, 0);
  const bool is_64_bit = reader.U32() == UINT32_MAX;
  if (is_64_bit) reader.U64();
  reader.Skip(4);
  const uint64_t count = reader.U32();
  const uint64_t base = reader.address();
  const uint64_t size = is_64_bit ? 8 : 4;
  if (!reader.ok() || index >= count) return kNoOffset;
  reader.Skip(index * size);
  const uint64_t offset = is_64_bit ? reader.U64() : reader.U32();
  return reader.ok() && offset < unit.lists.size() ? base + offset : kNoOffset;
}

Ranges ReadRangeList(const RangeLists& unit, uint64_t offset) {
  if (offset >= unit.lists.size()) return {};
  unwind::ByteReader reader(unit.lists.subspan(offset), 0);
  return unit.version < 5 ? ReadPairs(unit, reader)
                          : EntryReader(unit, reader).Read();
}

}  // namespace unspool::exporters
