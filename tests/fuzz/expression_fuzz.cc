// Input: a DWARF expression, evaluated with and without the CFA on the stack.

#include "tests/fuzz/fuzz_seeds.h"
#include "unwind/arch/x86_64/registers.h"
#include "unwind/dwarf_expression.h"

namespace unspool::unwind {
namespace {

class HashedMemory {
 public:
  bool Read(uint64_t address, size_t size, uint64_t* value) {
    *value = (address * 0x9e3779b97f4a7c15) >> (64 - 8 * size);
    return address % 16 != 0;
  }
};

}  // namespace
}  // namespace unspool::unwind

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace unspool::unwind;
  X86_64Registers registers;
  for (size_t i = 0; i < X86_64Registers::kCount; ++i) registers.Set(i, i * 8);
  HashedMemory memory;
  DwarfExpression<X86_64Registers, HashedMemory> expression(registers, memory,
                                                            0x1000);
  uint64_t result = 0;
  (void)expression.Evaluate({data, size}, std::nullopt, &result);
  (void)expression.Evaluate({data, size}, 0x7fff0000, &result);
  return 0;
}

namespace unspool::fuzz {

std::span<const FuzzSeed> FuzzSeeds() {
  static constexpr FuzzSeed kSeeds[] = {
      {"plt", "77 08 80 00 3f 1a 3b 2a 33 24 22"},
      {"drap", "76 58 06  # *(rbp-40)"},
      {"libcrypto", "77 08 22 79 00 38 1e 22  # rsp+8+r9*8"},
      {"loop", R"(
        30                # 0
        23 01             # +1
        12 35 2d          # < 5?
        28 f8 ff          # again
      )"},
      {"constants", R"(
        03 01 02 03 04 05 06 07 08
        08 ff 09 ff 0a ff ff 0b ff ff 0c ff ff ff ff 0d ff ff ff ff
        0e 01 02 03 04 05 06 07 08 0f 01 02 03 04 05 06 07 08
        10 80 01 11 ff 7f 92 03 7f
      )"},
      {"arithmetic", R"(
        36 33 1a 33 21 35 27 33 22 31 1c 35 1e 33 1b 35 1d 32 24 31 25 31 26
        19 1f 20 12 13 14 15 00 16 17 06 94 04 96 2f 00 00
      )"},
  };
  return kSeeds;
}

}  // namespace unspool::fuzz
