// Input: a module as it is mapped: ELF header, program headers, notes,
// .eh_frame_hdr and .eh_frame, at offsets that are addresses. Described as a
// later module is, then asked for the row of several PCs.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"
#include "unwind/arch/x86_64/arch.h"
#include "unwind/cfi_finder.h"
#include "unwind/elf_module.h"
#include "unwind/fde_index.h"

namespace unspool::unwind {
namespace {

void DescribeAndFind(std::span<const uint8_t> bytes) {
  Elf64_Ehdr header;
  if (!ParseElfHeader(bytes, &header) || header.e_phoff > bytes.size()) return;
  const size_t room = (bytes.size() - header.e_phoff) / sizeof(Elf64_Phdr);
  std::vector<Elf64_Phdr> headers(std::min<size_t>(room, header.e_phnum));
  if (headers.empty()) return;
  std::memcpy(headers.data(), bytes.data() + header.e_phoff,
              headers.size() * sizeof(Elf64_Phdr));
  LoadedModule loaded;
  if (!DescribeSegments(headers, 0, &loaded)) return;
  SpanSource source(bytes, 0);
  DescribeContents(source, &loaded);
  loaded.module.is_main = true;
  static const auto state = std::make_unique<CfiFinderState<X86_64>>();
  for (const uint64_t pc : {0x100, 0x101, 0x110, 0x1000}) {
    FindCfi(source, loaded, pc, true, state.get());
    FindCfi(source, loaded, pc, false, state.get());
  }
}

}  // namespace
}  // namespace unspool::unwind

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  unspool::unwind::DescribeAndFind({data, size});
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"small_library", R"(
        7f 45 4c 46 02 01 01 00 00 00 00 00 00 00 00 00
        03 00 3e 00 01 00 00 00  00 01 00 00 00 00 00 00   # entry 0x100
        40 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   # phoff 64
        00 00 00 00 40 00 38 00  03 00 00 00 00 00 00 00   # 3 headers of 56
        01 00 00 00 05 00 00 00  00 00 00 00 00 00 00 00   # PT_LOAD, RX
        00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00
        00 10 00 00 00 00 00 00  00 10 00 00 00 00 00 00
        00 10 00 00 00 00 00 00
        04 00 00 00 04 00 00 00  e8 00 00 00 00 00 00 00   # PT_NOTE at 0xe8
        e8 00 00 00 00 00 00 00  e8 00 00 00 00 00 00 00
        14 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00
        04 00 00 00 00 00 00 00
        50 e5 74 64 04 00 00 00  fc 00 00 00 00 00 00 00   # GNU_EH_FRAME at 0xfc
        fc 00 00 00 00 00 00 00  fc 00 00 00 00 00 00 00
        14 00 00 00 00 00 00 00  14 00 00 00 00 00 00 00
        04 00 00 00 00 00 00 00
        04 00 00 00 04 00 00 00 03 00 00 00  47 4e 55 00   # build id
        01 02 03 04
        01 1b 03 3b  10 00 00 00  01 00 00 00              # .eh_frame at 0x110
        04 00 00 00  2c 00 00 00                           # PC 0x100: 0x128
        14 00 00 00  00 00 00 00                           # CIE at 0x110
        01 7a 52 00 01 78 10 01 1b  0c 07 08 90 01 00 00
        10 00 00 00  1c 00 00 00                           # FDE at 0x128
        d0 ff ff ff  20 00 00 00  00 41 0e 10 00 00 00 00
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
