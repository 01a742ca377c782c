// A section's bytes as they were before compression: SHF_COMPRESSED (gABI ch.
// 4, "Compression Headers") by zlib or zstd, and the older GNU form, where
// .debug_info becomes .zdebug_info and begins with "ZLIB" and its size.

#ifndef UNSPOOL_UNWIND_LOAD_SECTION_DATA_H_
#define UNSPOOL_UNWIND_LOAD_SECTION_DATA_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/load/elf_file.h"
#include "unwind/load/owned_bytes.h"

namespace unspool::unwind {

enum class SectionError : uint8_t {
  kNone = 0,
  kAbsent,              // no such section, or one without bytes (SHT_NOBITS)
  kBeyondFile,          // does not lie within the file
  kUnknownCompression,  // neither zlib nor zstd
  kCorrupt,             // does not decompress to the size that it states
  kTooLarge,            // states more than the caller takes
  kNoMemory,
};

// What is wrong, as the tail of "<section> ". Never null. Async-signal-safe.
const char* SectionErrorText(SectionError error);

class SectionData {
 public:
  // Reads the first section of this name, which may be ".debug_…" for a
  // ".zdebug_…". Bytes that are not compressed stay the file's, which must then
  // outlive this object. On an error there are no bytes.
  // `max_size`: more bytes than that are not decompressed.
  // Not async-signal-safe: allocates.
  [[nodiscard]] SectionError Load(const ElfFile& elf, const char* name,
                                  uint64_t max_size);
  // The same for a section that is known already, not of the GNU form.
  [[nodiscard]] SectionError Load(const ElfFile& elf, const Elf64_Shdr& section,
                                  uint64_t max_size);

  std::span<const uint8_t> bytes() const { return bytes_; }
  // Whether the bytes were decompressed into memory of this object.
  bool is_inflated() const { return !inflated_.bytes().empty(); }
  // ELFCOMPRESS_* of what was loaded last, also if it is unknown; 0: none.
  uint32_t compression() const { return compression_; }

 private:
  SectionError LoadGnu(std::span<const uint8_t> contents, uint64_t max_size);
  SectionError Inflate(std::span<const uint8_t> in, uint64_t size,
                       uint64_t max_size);

  std::span<const uint8_t> bytes_;
  OwnedBytes inflated_;
  uint32_t compression_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_SECTION_DATA_H_
