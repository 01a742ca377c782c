// The binary search table in front of .eh_frame: LSB 5.0 §10.6.2.

#ifndef UNSPOOL_UNWIND_EH_FRAME_HDR_H_
#define UNSPOOL_UNWIND_EH_FRAME_HDR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "unwind/byte_reader.h"
#include "unwind/byte_source.h"
#include "unwind/pointer_encoding.h"

namespace unspool::unwind {

// Where the table is and how it is stored. No table: count 0.
struct EhFrameHdr {
  uint64_t address = 0;   // of the header, what datarel counts from
  uint64_t eh_frame = 0;  // of .eh_frame; 0 if it is not said
  uint64_t table = 0;
  uint64_t count = 0;
  uint8_t encoding = dwarf::DW_EH_PE_omit;

  bool has_table() const { return count > 0; }
  size_t entry_size() const { return 2 * EncodedPointerSize(encoding); }
  // As all linkers write it: pairs of 4-byte numbers, relative to `address`.
  static constexpr size_t kUsualEntrySize = 8;
  bool is_usual() const {
    return encoding == (dwarf::DW_EH_PE_datarel | dwarf::DW_EH_PE_sdata4);
  }
};

struct EhFrameHdrEntry {
  uint64_t pc_begin = 0;
  uint64_t fde = 0;  // its address
};

// Parses the header of `size` bytes that `reader` begins with; a table that
// does not fit into them, or whose entries have no fixed size, is no table.
// nullopt if it is no header of version 1. Async-signal-safe.
inline constexpr size_t kEhFrameHdrMaxSize = 4 + 4 * 16;
std::optional<EhFrameHdr> ParseEhFrameHdr(ByteReader& reader, uint64_t size);

// One entry; `bytes` are those of the entry. Fails the reader if malformed.
// Async-signal-safe.
EhFrameHdrEntry ParseEhFrameHdrEntry(const EhFrameHdr& header,
                                     ByteReader& reader);

// Reads entry `index`; nullopt if it cannot be read. Async-signal-safe.
template <ByteSource Source>
std::optional<EhFrameHdrEntry> ReadEhFrameHdrEntry(Source& source,
                                                   const EhFrameHdr& header,
                                                   uint64_t index) {
  const uint64_t address = header.table + index * header.entry_size();
  ByteReader reader(source.Window(address, header.entry_size()), address);
  const EhFrameHdrEntry entry = ParseEhFrameHdrEntry(header, reader);
  if (!reader.ok()) return std::nullopt;
  return entry;
}

// The number of entries among `entries`, those of a usual table relative to
// `base`, whose first number is at most `pc`, by search; the table is sorted by
// the numbers as they are stored. Async-signal-safe.
//
// By eighths, and without branches on what is read, half of which a processor
// would foretell wrongly: it takes a third of a binary search's time so. The
// seven loads of a step do not wait for each other, be it for memory.
inline uint64_t CountRelativeUpTo(std::span<const uint8_t> entries,
                                  uint64_t base, uint64_t pc) {
  constexpr size_t kEntrySize = EhFrameHdr::kUsualEntrySize;
  constexpr size_t kWays = 8;
  const auto distance = static_cast<int64_t>(pc - base);
  const auto is_up_to = [&](const uint8_t* entry) {
    int32_t begin = 0;
    std::memcpy(&begin, entry, sizeof(begin));
    return begin <= distance;
  };
  const auto farther = [&](const uint8_t* low, const uint8_t* entry) {
    const uint8_t* chosen = is_up_to(entry) ? entry : low;
    asm("" : "+r"(chosen));  // else GCC makes branches of it
    return chosen;
  };
  const uint8_t* low = entries.data();
  size_t left = entries.size() / kEntrySize;
  if (left == 0) return 0;
  while (left >= kWays) {
    const size_t part = left / kWays;
    const uint8_t* const from = low;
#pragma GCC unroll 8
    for (size_t way = 1; way < kWays; ++way) {
      low = farther(low, from + way * part * kEntrySize);
    }
    left -= (kWays - 1) * part;
  }
  for (; left > 1; left -= left / 2) {
    low = farther(low, low + left / 2 * kEntrySize);
  }
  return static_cast<size_t>(low - entries.data()) / kEntrySize +
         (is_up_to(low) ? 1 : 0);
}

// The number of entries that begin at or below `pc`, by binary search: the FDE
// of `pc`, if any, is the last of them or, where FDEs are empty or doubled, one
// a little before. Tables as all linkers write them are searched in few
// windows. Async-signal-safe.
template <ByteSource Source>
uint64_t CountEntriesUpTo(Source& source, const EhFrameHdr& header,
                          uint64_t pc) {
  constexpr uint64_t kMaxWindow = kIsPinned<Source> ? SIZE_MAX : kMinWindowSize;
  const uint64_t entry_size = header.entry_size();
  uint64_t low = 0;
  uint64_t high = header.count;
  while (low < high) {
    const uint64_t left = (high - low) * entry_size;
    if (header.is_usual() && left <= kMaxWindow) {
      const auto entries = source.Window(header.table + low * entry_size, left);
      if (entries.size() == left) {
        return low + CountRelativeUpTo(entries, header.address, pc);
      }
    }
    const uint64_t middle = low + (high - low) / 2;
    const auto entry = ReadEhFrameHdrEntry(source, header, middle);
    if (!entry) return 0;
    if (entry->pc_begin <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_EH_FRAME_HDR_H_
