// Input: an .eh_frame_hdr, and behind it, where its pointer leads, .eh_frame.

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "tests/fuzz/fuzz_seeds.h"
#include "unwind/cfi_lookup.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/usual_cfi.h"

namespace unspool::unwind {
namespace {

constexpr uint64_t kAddress = 0x10000;
constexpr uint64_t kMaxEntries = 4;  // that are looked up

// A search finds what counting finds, if the table is sorted; usual ones by
// their numbers as they are stored, and without a null pointer among them.
void CheckSearch(SpanSource source, const EhFrameHdr& hdr, uint64_t pc) {
  constexpr uint64_t kSignBit = uint64_t{1} << 63;
  const auto rank = [&](uint64_t address) {
    return hdr.is_usual() ? (address - hdr.address) ^ kSignBit : address;
  };
  uint64_t count = 0;
  uint64_t before = 0;
  for (uint64_t i = 0; i < hdr.count; ++i) {
    const auto entry = ReadEhFrameHdrEntry(source, hdr, i);
    if (!entry || rank(entry->pc_begin) < before) return;
    if (hdr.is_usual() && entry->pc_begin == 0) return;
    before = rank(entry->pc_begin);
    count += before <= rank(pc);
  }
  if (CountEntriesUpTo(source, hdr, pc) != count) std::abort();
}

void LookUp(SpanSource source, const UnwindSource& unwind_source, uint64_t pc) {
  Cie cie;
  Fde fde;
  const FdeLookup found = FindFde(source, unwind_source, pc, &cie, &fde);
  if (found == FdeLookup::kFound && !fde.Covers(pc)) std::abort();
  UsualFde usual;
  Cie its_cie;
  if (!FindUsualFde(source, unwind_source, pc, &usual) ||
      !ReadCie(source, unwind_source.section, usual.cie, &its_cie) ||
      !HasUsualFdes(its_cie)) {
    return;
  }
  if (found != FdeLookup::kFound || usual.pc_begin != fde.pc_begin ||
      usual.size != fde.pc_end - fde.pc_begin || usual.cie != cie.address ||
      usual.instructions.size() != fde.instructions.size) {
    std::abort();
  }
}

void Exercise(std::span<const uint8_t> bytes) {
  SpanSource source(bytes, kAddress);
  ByteReader reader(bytes, kAddress);
  const auto hdr = ParseEhFrameHdr(reader, bytes.size());
  if (!hdr || !hdr->has_table()) return;
  if (hdr->count > bytes.size())
    std::abort();  // an entry has two bytes or more
  UnwindSource unwind_source;
  unwind_source.hdr = *hdr;
  unwind_source.section.address = hdr->eh_frame;
  unwind_source.section.size = kAddress + bytes.size() - hdr->eh_frame;
  for (uint64_t i = 0; i < std::min(hdr->count, kMaxEntries); ++i) {
    const auto entry = ReadEhFrameHdrEntry(source, *hdr, i);
    if (!entry) return;  // relative to what a header does not know
    for (const uint64_t pc : {entry->pc_begin - 1, entry->pc_begin}) {
      LookUp(source, unwind_source, pc);
      CheckSearch(source, *hdr, pc);
    }
  }
}

}  // namespace
}  // namespace unspool::unwind

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  unspool::unwind::Exercise({data, size});
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"two_functions", R"(
        01 1b 03 3b  18 00 00 00  02 00 00 00  # pcrel|sdata4: .eh_frame at +28
        00 01 00 00  34 00 00 00               # PC +0x100: FDE at +52
        20 01 00 00  48 00 00 00               # PC +0x120: FDE at +72
        14 00 00 00  00 00 00 00               # CIE at +28
        01 7a 52 00 01 78 10 01 1b  0c 07 08 90 01 00 00
        10 00 00 00  1c 00 00 00               # FDE at +52
        c4 00 00 00  20 00 00 00  00 41 0e 10
        10 00 00 00  30 00 00 00               # FDE at +72
        d0 00 00 00  20 00 00 00  00 41 0e 10
      )"},
      {"absolute_eight_bytes", R"(
        01 00 03 00                            # absptr, udata4, absptr
        20 00 01 00 00 00 00 00  01 00 00 00
        00 02 01 00 00 00 00 00  38 00 01 00 00 00 00 00
        14 00 00 00  00 00 00 00               # CIE at +32
        01 7a 52 00 01 78 10 01 1b  0c 07 08 90 01 00 00
        10 00 00 00  1c 00 00 00               # FDE at +56
        c0 01 00 00  20 00 00 00  00 41 0e 10
      )"},
      {"range_that_wraps", R"(
        01 1b 03 3b  18 00 00 00  02 00 00 00
        80 01 00 00  34 00 00 00  20 01 00 00  48 00 00 00
        14 00 00 00  00 00 00 00
        01 7a 52 00 01 78 10 01 1b  0c 07 08 90 01 00 00
        10 00 00 00  1c 00 00 00
        c4 00 00 00  20 00 00 00  00 41 0e 10
        10 00 00 00  30 00 00 00               # begins below 0, ends at 0x12050
        d0 00 00 fa  00 20 00 5b  00 00 00 ff  ff ff ff ff
      )"},
      {"no_table", "01 1b ff ff  04 00 00 00  00 00 00 00"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
