// Input: an .eh_frame section, CIEs and FDEs.

#include "tests/fuzz/exercise_cfi.h"
#include "tests/fuzz/fuzz_seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  unspool::fuzz::ExerciseSection({data, size},
                                 unspool::unwind::CfiFormat::kEhFrame);
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"compiled_function", R"(
        14 00 00 00  00 00 00 00    # CIE of 20 bytes
        01  7a 52 00                # version 1, "zR"
        01 78 10                    # code 1, data -8, RA in 16
        01 1b                       # FDEs: pcrel|sdata4
        0c 07 08  90 01             # CFA = rsp+8, RA at CFA-8
        00 00
        20 00 00 00  1c 00 00 00    # FDE of 32 bytes
        e0 ff 00 00  40 00 00 00    # PC 0x20000, 64 bytes
        00
        41 0e 10 86 02              # 1: push rbp
        43 0d 06                    # 4: mov rsp, rbp
        0a                          # remember
        02 20 c6 0c 07 08           # 36: pop, ret
        41 0b                       # 37: restore
        00 00
        00 00 00 00                 # terminator
      )"},
      {"signal_frame", R"(
        16 00 00 00  00 00 00 00
        01  7a 52 53 00  01 78 10   # "zRS"
        01 1b  00 00 00 00 00 00 00 00
        30 00 00 00  1e 00 00 00
        de ff 00 00  09 00 00 00  00
        0f 04 77 a0 01 06           # CFA = *(rsp+160)
        10 10 03 77 a8 01           # RA saved at rsp+168
        16 06 03 77 f8 00           # rbp is rsp+120
        09 07 08                    # rsp in r8
        2e 10  07 03  08 0c         # args size, undefined, same value
        14 0d 02  15 0e 7e          # val_offset, val_offset_sf
        00 00
      )"},
      {"personality_and_64bit", R"(
        ff ff ff ff 20 00 00 00 00 00 00 00  00 00 00 00
        03  7a 50 4c 52 00          # version 3, "zPLR"
        01 78 10
        07 9b 01 02 03 04 1b 1b     # personality, LSDA, FDE encodings
        0c 07 08  90 01
        00 00 00 00 00 00
        13 00 00 00  30 00 00 00
        00 01 00 00  10 00 00 00
        04 00 00 00 00  00 00
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
