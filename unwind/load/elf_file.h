// A view of an ELF64 little-endian file's bytes: headers, segments, sections,
// unwind tables, build id. It reads what is there and judges nothing beyond
// structure (gABI ch. 4 and 5); relocations are not applied and compressed
// sections come as they are.
//
// The bytes are hostile: every offset, size and count is checked against the
// file before use, every loop is bounded by the file's size, and nothing needs
// to be aligned. A file without section headers, or with broken ones, is still
// good for all that program headers tell.

#ifndef UNSPOOL_UNWIND_LOAD_ELF_FILE_H_
#define UNSPOOL_UNWIND_LOAD_ELF_FILE_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/module.h"

namespace unspool::unwind {

enum class ElfError : uint8_t {
  kNone = 0,
  kNotElf,             // no \x7f E L F at the start
  kTruncatedHeader,    // the file ends inside the ELF header
  kWrongClass,         // EI_CLASS is not ELFCLASS64
  kWrongByteOrder,     // EI_DATA is not ELFDATA2LSB
  kWrongVersion,       // EI_VERSION or e_version is not EV_CURRENT
  kBadProgramHeaders,  // wrong entry size, or beyond the end of the file
  kBadSectionHeaders,  // the same for sections or their names
};

// What is wrong, as the tail of "<file>: …". Never null. Async-signal-safe.
const char* ElfErrorText(ElfError error);

// Bytes of the file, and the ELF virtual address that they are linked at.
struct ElfRange {
  uint64_t address = 0;
  std::span<const uint8_t> bytes;
};

// Holds no memory of its own; all methods are const after Parse(), so that any
// number of threads may use one. The bytes must outlive the view and what it
// returned.
class ElfFile {
 public:
  constexpr ElfFile() = default;

  // Checks the header and finds the header tables. On any error but kNone this
  // view is empty. Broken section headers are no error here: see
  // section_error(). Async-signal-safe.
  [[nodiscard]] ElfError Parse(std::span<const uint8_t> bytes);

  // e_type, e_machine, e_entry. Async-signal-safe.
  uint16_t type() const { return header_.e_type; }
  uint16_t machine() const { return header_.e_machine; }
  uint64_t entry() const { return header_.e_entry; }

  // Program headers in file order; `index` < program_header_count(), else a
  // zeroed one (PT_NULL). The count honours PN_XNUM. Async-signal-safe.
  size_t program_header_count() const { return program_header_count_; }
  Elf64_Phdr ProgramHeader(size_t index) const;
  // The first of this type; nullopt if there is none. Async-signal-safe.
  std::optional<Elf64_Phdr> FindProgramHeader(uint32_t type) const;

  // Section headers in file order, the null section at 0 included; `index` <
  // section_count(), else a zeroed one (SHT_NULL). None if the file has none or
  // section_error() is not kNone. Async-signal-safe.
  size_t section_count() const { return section_count_; }
  Elf64_Shdr Section(size_t index) const;
  ElfError section_error() const { return section_error_; }
  // Whether the section at `index` has this name. Async-signal-safe.
  bool IsNamed(size_t index, const char* name) const;
  // The first section of this name; nullopt if there is none. Costs a look at
  // each section. Async-signal-safe.
  std::optional<Elf64_Shdr> FindSection(const char* name) const;

  // The part of the file that a header describes: p_filesz or sh_size bytes.
  // nullopt if it does not lie within the file, or if the section has no bytes
  // in it (SHT_NOBITS, SHT_NULL). Async-signal-safe.
  std::optional<ElfRange> Contents(const Elf64_Phdr& header) const;
  std::optional<ElfRange> Contents(const Elf64_Shdr& section) const;

  // From `address` to the end of what the file has of the PT_LOAD that holds
  // it; nullopt if none does. Async-signal-safe.
  std::optional<ElfRange> LoadedFrom(uint64_t address) const;

  // .eh_frame_hdr: PT_GNU_EH_FRAME, else the section. Async-signal-safe.
  std::optional<ElfRange> EhFrameHdr() const;
  // .eh_frame: the section, else from the header's eh_frame_ptr to the end of
  // its segment, which is more than the section has. Its terminator tells where
  // it ends, but not every file has one (Debian's ld.so does not).
  // Async-signal-safe.
  std::optional<ElfRange> EhFrame() const;

  // NT_GNU_BUILD_ID of PT_NOTE, else of SHT_NOTE; size 0 if there is none of 1
  // to BuildId::kMaxSize bytes. Async-signal-safe.
  BuildId FindBuildId() const;

  // The executable PT_LOADs as linked (bias 0), in file order, but for those
  // that wrap around the address space: up to segments.size() of them are
  // written. Returns how many there are.
  // Async-signal-safe.
  size_t ExecutableSegments(std::span<Segment> segments) const;

 private:
  std::optional<std::span<const uint8_t>> Slice(uint64_t offset,
                                                uint64_t size) const;
  Elf64_Shdr ReadSection(size_t index) const;
  ElfError FindSectionHeaders();
  ElfError FindProgramHeaders();

  std::span<const uint8_t> bytes_;
  Elf64_Ehdr header_{};
  size_t program_header_count_ = 0;
  size_t section_count_ = 0;
  std::span<const uint8_t> section_names_;
  ElfError section_error_ = ElfError::kNone;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_ELF_FILE_H_
