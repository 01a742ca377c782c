#include "unwind/eh_frame_hdr.h"

namespace unspool::unwind {

using namespace dwarf;

std::optional<EhFrameHdr> ParseEhFrameHdr(ByteReader& reader, uint64_t size) {
  EhFrameHdr header;
  header.address = reader.address();
  const uint8_t version = reader.U8();
  const uint8_t eh_frame_encoding = reader.U8();
  const uint8_t count_encoding = reader.U8();
  header.encoding = reader.U8();
  if (!reader.ok() || version != 1) return std::nullopt;

  const PointerBases bases = {.data = header.address};
  if (eh_frame_encoding != DW_EH_PE_omit) {
    const auto pointer = ReadEncodedPointer(reader, eh_frame_encoding, bases);
    if (pointer.indirect || !reader.ok()) return std::nullopt;
    header.eh_frame = pointer.value;
  }
  if (count_encoding == DW_EH_PE_omit || header.entry_size() == 0 ||
      (header.encoding & DW_EH_PE_indirect) != 0) {
    return header;
  }
  const auto count = ReadEncodedPointer(reader, count_encoding, bases);
  const uint64_t used = reader.address() - header.address;
  if (count.indirect || !reader.ok() || used > size ||
      count.value > (size - used) / header.entry_size()) {
    return header;
  }
  header.table = reader.address();
  header.count = count.value;
  return header;
}

EhFrameHdrEntry ParseEhFrameHdrEntry(const EhFrameHdr& header,
                                     ByteReader& reader) {
  const PointerBases bases = {.data = header.address};
  EhFrameHdrEntry entry;
  entry.pc_begin = ReadEncodedPointer(reader, header.encoding, bases).value;
  entry.fde = ReadEncodedPointer(reader, header.encoding, bases).value;
  return entry;
}

}  // namespace unspool::unwind
