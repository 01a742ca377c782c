#include "exporters/symbolizer/fde_ranges.h"

#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"

namespace unspool::exporters {

FdeRanges::FdeRanges(const unwind::ElfFile& elf) {
  const auto eh_frame = elf.EhFrame();
  if (!eh_frame) return;
  const unwind::CfiSection section = {
      .address = eh_frame->address,
      .size = eh_frame->bytes.size(),
      .bases = {},
  };
  const unwind::SpanSource source(eh_frame->bytes, eh_frame->address);
  unwind::CfiEntryCursor cursor(section);
  unwind::CfiEntry entry;
  while (cursor.Next(source, &entry)) {
    unwind::Cie cie;
    unwind::Fde fde;
    if (entry.kind != unwind::CfiEntry::Kind::kFde ||
        !unwind::ReadFde(source, section, entry.address, &cie, &fde)) {
      continue;
    }
    start_at_.Add(fde.pc_begin, fde.pc_end, fde.pc_begin);
  }
  start_at_.Seal();
}

std::optional<uint64_t> FdeRanges::FindStart(uint64_t address) const {
  const uint64_t* start = start_at_.Find(address);
  if (start == nullptr) return std::nullopt;
  return *start;
}

}  // namespace unspool::exporters
