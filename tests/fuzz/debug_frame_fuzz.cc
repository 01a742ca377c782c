// Input: a .debug_frame section, CIEs and FDEs.

#include "tests/fuzz/exercise_cfi.h"
#include "tests/fuzz/fuzz_seeds.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  unspool::fuzz::ExerciseSection({data, size},
                                 unspool::unwind::CfiFormat::kDebugFrame);
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"compiled_function", R"(
        14 00 00 00  ff ff ff ff    # CIE of 20 bytes
        01  00  01 78 10            # version 1, code 1, data -8, RA in 16
        0c 07 08  90 01             # CFA = rsp+8, RA at CFA-8
        00 00 00 00 00 00
        24 00 00 00  00 00 00 00    # FDE of 36 bytes
        00 00 02 00 00 00 00 00  40 00 00 00 00 00 00 00
        41 0e 10 86 02              # 1: push rbp
        43 0d 06                    # 4: mov rsp, rbp
        02 20 c6 0c 07 08           # 36: pop, ret
        00 00
        00 00 00 00                 # an empty entry
      )"},
      {"signal_frame_and_64bit", R"(
        ff ff ff ff  18 00 00 00 00 00 00 00  # CIE of 24 bytes
        ff ff ff ff ff ff ff ff
        03  53 00  01 78 10         # version 3, "S"
        0c 07 08  90 01
        00 00 00 00 00
        ff ff ff ff  20 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00
        00 00 02 00 00 00 00 00  09 00 00 00 00 00 00 00
        0f 04 77 a0 01 06           # CFA = *(rsp+160)
        00 00
      )"},
      {"debug_frame_version_4", R"(
        14 00 00 00  ff ff ff ff
        04 00 08 00                 # version 4, addresses of 8, no segments
        01 78 10
        0c 07 08  90 01
        00 00 00 00
        1f 00 00 00  00 00 00 00
        00 00 02 00 00 00 00 00  10 00 00 00 00 00 00 00
        01 04 00 02 00 00 00 00 00  # set_loc 0x20004
        0e 20
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
