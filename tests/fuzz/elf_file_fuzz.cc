// ElfFile on hostile files: it must stay within the bytes, and so must all that
// it returns.

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
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

std::string Hex(const std::vector<uint8_t>& bytes) {
  std::string hex;
  for (const uint8_t byte : bytes) {
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

// The note's section is one of 16 zeros, compressed by zlib.
std::vector<uint8_t> WithCompressedSection() {
  constexpr uint8_t kZeros[] = {0x78, 0x9c, 0x63, 0x60, 0x40, 0x05,
                                0x00, 0x00, 0x10, 0x00, 0x01};
  const Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB,
                             .ch_reserved = 0,
                             .ch_size = 16,
                             .ch_addralign = 1};
  TestElf image;
  image.sections[1].sh_flags |= SHF_COMPRESSED;
  std::vector<uint8_t> bytes = image.Bytes();
  memcpy(&bytes[TestElf::kNote], &header, sizeof(header));
  memcpy(&bytes[TestElf::kNote + sizeof(header)], kZeros, sizeof(kZeros));
  return bytes;
}

}  // namespace

std::span<const FuzzSeed> FuzzSeeds() {
  static const std::string kWhole = Hex(TestElf().Bytes());
  static const std::string kNoSections = Hex(WithoutSections().Bytes());
  static const std::string kExtended = Hex(WithCountsInSectionZero().Bytes());
  static const std::string kCompressed = Hex(WithCompressedSection());
  static const std::array<FuzzSeed, 4> kSeeds = {{
      {"whole", kWhole.c_str()},
      {"no_sections", kNoSections.c_str()},
      {"counts_in_section_zero", kExtended.c_str()},
      {"compressed", kCompressed.c_str()},
  }};
  return kSeeds;
}

}  // namespace unspool::fuzz
