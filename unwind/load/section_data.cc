#include "unwind/load/section_data.h"

#include <cstdio>
#include <cstring>

#include "unwind/load/inflate.h"

namespace unspool::unwind {
namespace {

// elf.h of glibc 2.36 does not have it.
constexpr uint32_t kCompressZstd = 2;

// "ZLIB" and the size, most significant byte first.
constexpr char kGnuMagic[] = {'Z', 'L', 'I', 'B'};
constexpr size_t kGnuHeaderSize = sizeof(kGnuMagic) + 8;

uint64_t BigEndian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

}  // namespace

const char* SectionErrorText(SectionError error) {
  switch (error) {
    case SectionError::kNone:
      return "has no error";
    case SectionError::kAbsent:
      return "is not there";
    case SectionError::kBeyondFile:
      return "does not lie within the file";
    case SectionError::kUnknownCompression:
      return "is compressed by a method that is neither zlib nor zstd";
    case SectionError::kCorrupt:
      return "does not decompress to what it states";
    case SectionError::kTooLarge:
      return "is too large when decompressed";
    case SectionError::kNoMemory:
      return "does not fit into memory when decompressed";
  }
  return "has an unknown error";
}

SectionError SectionData::Load(const ElfFile& elf, const char* name,
                               uint64_t max_size) {
  *this = SectionData();
  if (const auto section = elf.FindSection(name)) {
    return Load(elf, *section, max_size);
  }
  if (name[0] != '.') return SectionError::kAbsent;
  char gnu_name[64];
  std::snprintf(gnu_name, sizeof(gnu_name), ".z%s", name + 1);
  const auto section = elf.FindSection(gnu_name);
  if (!section) return SectionError::kAbsent;
  const SectionError error = Load(elf, *section, max_size);
  return error == SectionError::kNone ? LoadGnu(bytes_, max_size) : error;
}

SectionError SectionData::Load(const ElfFile& elf, const Elf64_Shdr& section,
                               uint64_t max_size) {
  *this = SectionData();
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) {
    return SectionError::kAbsent;
  }
  const auto contents = elf.Contents(section);
  if (!contents) return SectionError::kBeyondFile;
  if ((section.sh_flags & SHF_COMPRESSED) == 0) {
    bytes_ = contents->bytes;
    return SectionError::kNone;
  }
  Elf64_Chdr header;
  if (contents->bytes.size() < sizeof(header)) return SectionError::kCorrupt;
  memcpy(&header, contents->bytes.data(), sizeof(header));
  compression_ = header.ch_type;
  return Inflate(contents->bytes.subspan(sizeof(header)), header.ch_size,
                 max_size);
}

SectionError SectionData::LoadGnu(std::span<const uint8_t> contents,
                                  uint64_t max_size) {
  if (contents.size() < kGnuHeaderSize ||
      memcmp(contents.data(), kGnuMagic, sizeof(kGnuMagic)) != 0) {
    bytes_ = {};
    return SectionError::kCorrupt;
  }
  const uint64_t size =
      BigEndian(contents.subspan(sizeof(kGnuMagic), sizeof(uint64_t)));
  compression_ = ELFCOMPRESS_ZLIB;
  bytes_ = {};
  return Inflate(contents.subspan(kGnuHeaderSize), size, max_size);
}

SectionError SectionData::Inflate(std::span<const uint8_t> in, uint64_t size,
                                  uint64_t max_size) {
  if (compression_ != ELFCOMPRESS_ZLIB && compression_ != kCompressZstd) {
    return SectionError::kUnknownCompression;
  }
  if (size > max_size) return SectionError::kTooLarge;
  if (!inflated_.Allocate(size)) return SectionError::kNoMemory;
  const bool is_right = compression_ == kCompressZstd
                            ? InflateZstd(in, inflated_.bytes())
                            : InflateZlib(in, inflated_.bytes());
  if (!is_right) {
    inflated_ = OwnedBytes();
    return SectionError::kCorrupt;
  }
  bytes_ = inflated_.bytes();
  return SectionError::kNone;
}

}  // namespace unspool::unwind
