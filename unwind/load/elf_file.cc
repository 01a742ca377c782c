#include "unwind/load/elf_file.h"

#include <cstring>

#include "unwind/byte_reader.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/load/elf_note.h"

namespace unspool::unwind {
namespace {

// The T at `offset`, which may be misaligned; nullopt if it does not fit.
template <typename T>
std::optional<T> ReadAt(std::span<const uint8_t> bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    return std::nullopt;
  }
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

ElfError CheckIdent(std::span<const uint8_t> bytes) {
  if (bytes.size() < SELFMAG || memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    return ElfError::kNotElf;
  }
  if (bytes.size() < EI_NIDENT) return ElfError::kTruncatedHeader;
  if (bytes[EI_CLASS] != ELFCLASS64) return ElfError::kWrongClass;
  if (bytes[EI_DATA] != ELFDATA2LSB) return ElfError::kWrongByteOrder;
  if (bytes[EI_VERSION] != EV_CURRENT) return ElfError::kWrongVersion;
  return ElfError::kNone;
}

// Whether the NUL-terminated string at `offset` of a string table is `name`.
bool StringIs(std::span<const uint8_t> table, uint64_t offset,
              const char* name) {
  const size_t size = strlen(name) + 1;
  return offset <= table.size() && table.size() - offset >= size &&
         memcmp(table.data() + offset, name, size) == 0;
}

bool FindBuildIdNote(std::span<const uint8_t> notes, uint64_t alignment,
                     BuildId* build_id) {
  const auto id = FindNote(notes, alignment, "GNU", NT_GNU_BUILD_ID);
  if (!id || id->empty() || id->size() > BuildId::kMaxSize) return false;
  build_id->size = static_cast<uint8_t>(id->size());
  memcpy(build_id->bytes.data(), id->data(), id->size());
  return true;
}

}  // namespace

const char* ElfErrorText(ElfError error) {
  switch (error) {
    case ElfError::kNone:
      return "no error";
    case ElfError::kNotElf:
      return "not an ELF file";
    case ElfError::kTruncatedHeader:
      return "ends inside its ELF header";
    case ElfError::kWrongClass:
      return "not a 64-bit ELF file";
    case ElfError::kWrongByteOrder:
      return "not a little-endian ELF file";
    case ElfError::kWrongVersion:
      return "an ELF version other than 1";
    case ElfError::kBadProgramHeaders:
      return "program headers are malformed or beyond the end of the file";
    case ElfError::kBadSectionHeaders:
      return "section headers are malformed or beyond the end of the file";
  }
  return "unknown error";
}

ElfError ElfFile::Parse(std::span<const uint8_t> bytes) {
  *this = ElfFile();
  if (const ElfError error = CheckIdent(bytes); error != ElfError::kNone) {
    return error;
  }
  const auto header = ReadAt<Elf64_Ehdr>(bytes, 0);
  if (!header) return ElfError::kTruncatedHeader;
  if (header->e_version != EV_CURRENT) return ElfError::kWrongVersion;
  bytes_ = bytes;
  header_ = *header;
  if (const ElfError error = FindProgramHeaders(); error != ElfError::kNone) {
    *this = ElfFile();
    return error;
  }
  section_error_ = FindSectionHeaders();
  return ElfError::kNone;
}

// Counts that do not fit 16 bits are in section 0 (gABI ch. 4, e_phnum,
// e_shnum, e_shstrndx).
ElfError ElfFile::FindProgramHeaders() {
  uint64_t count = header_.e_phnum;
  if (count == PN_XNUM) {
    const auto first = ReadAt<Elf64_Shdr>(bytes_, header_.e_shoff);
    if (header_.e_shoff == 0 || !first) return ElfError::kBadProgramHeaders;
    count = first->sh_info;
  }
  if (count == 0) return ElfError::kNone;
  if (header_.e_phentsize != sizeof(Elf64_Phdr) ||
      !Slice(header_.e_phoff, count * sizeof(Elf64_Phdr))) {
    return ElfError::kBadProgramHeaders;
  }
  program_header_count_ = count;
  return ElfError::kNone;
}

ElfError ElfFile::FindSectionHeaders() {
  if (header_.e_shoff == 0) return ElfError::kNone;
  const auto first = ReadAt<Elf64_Shdr>(bytes_, header_.e_shoff);
  if (header_.e_shentsize != sizeof(Elf64_Shdr) || !first) {
    return ElfError::kBadSectionHeaders;
  }
  const uint64_t count =
      header_.e_shnum != 0 ? header_.e_shnum : first->sh_size;
  const uint64_t names =
      header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first->sh_link;
  if (count > bytes_.size() / sizeof(Elf64_Shdr) ||
      !Slice(header_.e_shoff, count * sizeof(Elf64_Shdr)) ||
      (names >= count && names != SHN_UNDEF)) {
    return ElfError::kBadSectionHeaders;
  }
  if (names != SHN_UNDEF) {
    const auto table = Contents(ReadSection(names));
    if (!table) return ElfError::kBadSectionHeaders;
    section_names_ = table->bytes;
  }
  section_count_ = count;
  return ElfError::kNone;
}

std::optional<std::span<const uint8_t>> ElfFile::Slice(uint64_t offset,
                                                       uint64_t size) const {
  if (offset > bytes_.size() || bytes_.size() - offset < size) {
    return std::nullopt;
  }
  return bytes_.subspan(offset, size);
}

Elf64_Shdr ElfFile::ReadSection(size_t index) const {
  return ReadAt<Elf64_Shdr>(bytes_,
                            header_.e_shoff + index * sizeof(Elf64_Shdr))
      .value_or(Elf64_Shdr{});
}

Elf64_Phdr ElfFile::ProgramHeader(size_t index) const {
  if (index >= program_header_count_) return {};
  return ReadAt<Elf64_Phdr>(bytes_,
                            header_.e_phoff + index * sizeof(Elf64_Phdr))
      .value_or(Elf64_Phdr{});
}

std::optional<Elf64_Phdr> ElfFile::FindProgramHeader(uint32_t type) const {
  for (size_t i = 0; i < program_header_count_; ++i) {
    const Elf64_Phdr header = ProgramHeader(i);
    if (header.p_type == type) return header;
  }
  return std::nullopt;
}

Elf64_Shdr ElfFile::Section(size_t index) const {
  return index < section_count_ ? ReadSection(index) : Elf64_Shdr{};
}

bool ElfFile::IsNamed(size_t index, const char* name) const {
  return index < section_count_ &&
         StringIs(section_names_, ReadSection(index).sh_name, name);
}

std::optional<Elf64_Shdr> ElfFile::FindSection(const char* name) const {
  for (size_t i = 1; i < section_count_; ++i) {
    if (IsNamed(i, name)) return ReadSection(i);
  }
  return std::nullopt;
}

std::optional<ElfRange> ElfFile::Contents(const Elf64_Phdr& header) const {
  const auto bytes = Slice(header.p_offset, header.p_filesz);
  if (!bytes) return std::nullopt;
  return ElfRange{header.p_vaddr, *bytes};
}

std::optional<ElfRange> ElfFile::Contents(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) {
    return std::nullopt;
  }
  const auto bytes = Slice(section.sh_offset, section.sh_size);
  if (!bytes) return std::nullopt;
  return ElfRange{section.sh_addr, *bytes};
}

std::optional<ElfRange> ElfFile::LoadedFrom(uint64_t address) const {
  for (size_t i = 0; i < program_header_count_; ++i) {
    const Elf64_Phdr header = ProgramHeader(i);
    if (header.p_type != PT_LOAD || address < header.p_vaddr ||
        address - header.p_vaddr >= header.p_filesz) {
      continue;
    }
    const auto segment = Contents(header);
    if (!segment) return std::nullopt;
    return ElfRange{address, segment->bytes.subspan(address - header.p_vaddr)};
  }
  return std::nullopt;
}

std::optional<ElfRange> ElfFile::EhFrameHdr() const {
  if (const auto header = FindProgramHeader(PT_GNU_EH_FRAME)) {
    return Contents(*header);
  }
  if (const auto section = FindSection(".eh_frame_hdr")) {
    return Contents(*section);
  }
  return std::nullopt;
}

std::optional<ElfRange> ElfFile::EhFrame() const {
  if (const auto section = FindSection(".eh_frame")) return Contents(*section);
  const auto range = EhFrameHdr();
  if (!range) return std::nullopt;
  ByteReader reader(range->bytes, range->address);
  const auto hdr = ParseEhFrameHdr(reader, range->bytes.size());
  if (!hdr || hdr->eh_frame == 0) return std::nullopt;
  return LoadedFrom(hdr->eh_frame);
}

BuildId ElfFile::FindBuildId() const {
  BuildId build_id;
  for (size_t i = 0; i < program_header_count_; ++i) {
    const Elf64_Phdr header = ProgramHeader(i);
    if (header.p_type != PT_NOTE) continue;
    const auto notes = Contents(header);
    if (notes && FindBuildIdNote(notes->bytes, header.p_align, &build_id)) {
      return build_id;
    }
  }
  for (size_t i = 0; i < section_count_; ++i) {
    const Elf64_Shdr section = ReadSection(i);
    if (section.sh_type != SHT_NOTE) continue;
    const auto notes = Contents(section);
    if (notes &&
        FindBuildIdNote(notes->bytes, section.sh_addralign, &build_id)) {
      return build_id;
    }
  }
  return build_id;
}

size_t ElfFile::ExecutableSegments(std::span<Segment> segments) const {
  size_t count = 0;
  for (size_t i = 0; i < program_header_count_; ++i) {
    const Elf64_Phdr header = ProgramHeader(i);
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 ||
        header.p_memsz > ~header.p_vaddr) {
      continue;
    }
    if (count < segments.size()) {
      segments[count] = {.start = header.p_vaddr,
                         .end = header.p_vaddr + header.p_memsz,
                         .file_offset = header.p_offset};
    }
    ++count;
  }
  return count;
}

}  // namespace unspool::unwind
