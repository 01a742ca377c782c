// ElfFile on hostile files: it must stay within the bytes, and so must all that
// it returns.

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"
#include "tests/unwind/load/exercise_elf.h"
#include "tests/unwind/load/test_elf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  unspool::unwind::ExerciseElf({data, size});
  return 0;
}

namespace unspool::fuzz {
namespace {

using unwind::TestElf;

std::string Hex(const TestElf& image) {
  std::string hex;
  for (const uint8_t byte : image.Bytes()) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  return hex;
}

TestElf WithoutSections() {
  TestElf image;
  image.header.e_shoff = 0;
  return image;
}

TestElf WithCountsInSectionZero() {
  TestElf image;
  image.header.e_phnum = PN_XNUM;
  image.header.e_shnum = 0;
  image.header.e_shstrndx = SHN_XINDEX;
  image.sections[0].sh_info = 4;
  image.sections[0].sh_size = 5;
  image.sections[0].sh_link = 4;
  return image;
}

}  // namespace

std::span<const FuzzSeed> FuzzSeeds() {
  static const std::string kWhole = Hex(TestElf());
  static const std::string kNoSections = Hex(WithoutSections());
  static const std::string kExtended = Hex(WithCountsInSectionZero());
  static const std::array<FuzzSeed, 3> kSeeds = {{
      {"whole", kWhole.c_str()},
      {"no_sections", kNoSections.c_str()},
      {"counts_in_section_zero", kExtended.c_str()},
  }};
  return kSeeds;
}

}  // namespace unspool::fuzz
