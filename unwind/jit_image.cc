#include "unwind/jit_image.h"

#include <cstring>

#include "unwind/cfi_lookup.h"
#include "unwind/elf_module.h"
#include "unwind/hash_bytes.h"
#include "unwind/self_memory.h"

namespace unspool::unwind {

std::span<const uint8_t> CopyWindow::Window(uint64_t address, size_t size) {
  if (size > buffer_.size()) size = buffer_.size();
  const uint64_t offset = address - start_;
  if (offset > size_ || size_ - offset < size) {
    start_ = address;
    size_ = CopyFromSelf(address, buffer_);
  }
  const auto rest =
      std::span<const uint8_t>(buffer_).first(size_).subspan(address - start_);
  return rest.first(size < rest.size() ? size : rest.size());
}

uint64_t JitImprint::HashNow(std::span<uint8_t> buffer) const {
  uint64_t result = kHashSeed;
  for (const AddressRange& part : parts) {
    const std::span<uint8_t> bytes = buffer.first(part.size);
    result = HashBytes(bytes.first(CopyFromSelf(part.address, bytes)), result);
  }
  return result;
}

bool JitImage::Open() {
  Elf64_Ehdr header;
  if (size_ < sizeof(header) ||
      !ParseElfHeader(copy_.Window(address_, sizeof(header)), &header) ||
      header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size_) {
    return false;
  }
  is_relocatable_ = header.e_type == ET_REL;
  sections_ = address_ + header.e_shoff;
  names_section_ = header.e_shstrndx;
  const uint64_t room = (size_ - header.e_shoff) / sizeof(Elf64_Shdr);
  section_count_ = header.e_shnum;
  if (section_count_ > room) section_count_ = static_cast<uint32_t>(room);
  if (section_count_ > kMaxSections) section_count_ = kMaxSections;
  return section_count_ > 0;
}

bool JitImage::ReadSection(uint32_t index, Elf64_Shdr* section) {
  return index < section_count_ &&
         copy_.Read(sections_ + index * sizeof(*section), section);
}

bool JitImage::FindSymbols(Elf64_Shdr* symbols, Elf64_Shdr* names) {
  for (uint32_t i = 1; ReadSection(i, symbols); ++i) {
    if (symbols->sh_type != SHT_SYMTAB ||
        symbols->sh_entsize != sizeof(Elf64_Sym)) {
      continue;
    }
    return ReadSection(symbols->sh_link, names) &&
           symbols->sh_offset <= size_ &&
           symbols->sh_size <= size_ - symbols->sh_offset &&
           names->sh_offset <= size_ &&
           names->sh_size <= size_ - names->sh_offset;
  }
  return false;
}

uint64_t JitImage::AddressOf(const Elf64_Sym& symbol) {
  if (!is_relocatable_) return symbol.st_value;
  if (symbol.st_shndx != last_index_) {
    Elf64_Shdr section;
    if (!ReadSection(symbol.st_shndx, &section)) return 0;
    last_index_ = symbol.st_shndx;
    last_address_ = section.sh_addr;
  }
  return last_address_ == 0 ? 0 : last_address_ + symbol.st_value;
}

bool JitImage::FindFunction(uint64_t pc, Function* function) {
  Elf64_Shdr symbols;
  Elf64_Shdr names;
  if (!FindSymbols(&symbols, &names)) return false;
  uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
  if (count > kMaxSymbols) count = kMaxSymbols;
  for (uint64_t i = 1; i < count; ++i) {
    Elf64_Sym symbol;
    if (!copy_.Read(address_ + symbols.sh_offset + i * sizeof(symbol),
                    &symbol)) {
      return false;
    }
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size) {
      continue;
    }
    const uint64_t start = AddressOf(symbol);
    if (start == 0 || pc - start >= symbol.st_size) continue;
    *function = {start, symbol.st_size,
                 address_ + names.sh_offset + symbol.st_name};
    return true;
  }
  return false;
}

bool JitImage::IsNamed(const Elf64_Shdr& section, const char* name) {
  Elf64_Shdr names;
  const size_t size = std::strlen(name) + 1;
  if (!ReadSection(names_section_, &names) || names.sh_offset > size_) {
    return false;
  }
  const auto text =
      copy_.Window(address_ + names.sh_offset + section.sh_name, size);
  return text.size() == size && std::memcmp(text.data(), name, size) == 0;
}

// Names are read of the few sections that it may be: that moves the window.
bool JitImage::FindSection(const char* name, Elf64_Shdr* section,
                           uint32_t* index) {
  for (*index = 1; ReadSection(*index, section); ++*index) {
    const bool may_be = (section->sh_type == SHT_PROGBITS ||
                         section->sh_type == SHT_X86_64_UNWIND) &&
                        (section->sh_flags & SHF_EXECINSTR) == 0;
    if (may_be && IsNamed(*section, name)) return true;
  }
  return false;
}

bool JitImage::HasRelocations(uint32_t index) {
  Elf64_Shdr section;
  for (uint32_t i = 1; ReadSection(i, &section); ++i) {
    if (section.sh_type == SHT_RELA && section.sh_info == index) return true;
  }
  return false;
}

// The start of the section that has `pc`, which DW_EH_PE_textrel counts from.
uint64_t JitImage::SectionOf(uint64_t pc) {
  uint64_t result = 0;
  ForEachCode([&](uint64_t start, uint64_t end) {
    if (start <= pc && pc < end) result = start;
  });
  return result;
}

bool JitImage::FindFrameSection(CfiFormat format, uint64_t pc,
                                CfiSection* section) {
  const bool is_eh_frame = format == CfiFormat::kEhFrame;
  Elf64_Shdr header;
  uint32_t index = 0;
  if (!FindSection(is_eh_frame ? ".eh_frame" : ".debug_frame", &header,
                   &index) ||
      (header.sh_flags & SHF_COMPRESSED) != 0) {
    return false;
  }
  *section = CfiSection();
  section->format = format;
  section->has_exact_size = true;
  section->size =
      header.sh_size < kMaxFrameBytes ? header.sh_size : kMaxFrameBytes;
  const bool is_loaded =
      (header.sh_flags & SHF_ALLOC) != 0 && header.sh_addr != 0;
  if (is_loaded && is_eh_frame) {
    section->address = header.sh_addr;
    return true;
  }
  if (header.sh_offset > size_ || section->size > size_ - header.sh_offset ||
      (is_relocatable_ && HasRelocations(index))) {
    return false;
  }
  section->address = address_ + header.sh_offset;
  section->bases.text = SectionOf(pc);
  return true;
}

bool JitImage::FindFde(uint64_t pc, CfiSection* section, Fde* fde) {
  for (const auto format : {CfiFormat::kEhFrame, CfiFormat::kDebugFrame}) {
    Cie cie;
    if (FindFrameSection(format, pc, section) &&
        FindFdeLinear(copy_, *section, pc, &cie, fde) == FdeLookup::kFound) {
      return true;
    }
  }
  return false;
}

JitImprint JitImage::Imprint() {
  const auto part = [](uint64_t address, uint64_t size) {
    constexpr uint64_t kBytes = 1024;
    return AddressRange{address, size < kBytes ? size : kBytes};
  };
  JitImprint imprint;
  imprint.parts[0] = part(sections_, section_count_ * sizeof(Elf64_Shdr));
  Elf64_Shdr symbols;
  Elf64_Shdr names;
  if (FindSymbols(&symbols, &names)) {
    imprint.parts[1] = part(address_ + symbols.sh_offset, symbols.sh_size);
    imprint.parts[2] = part(address_ + names.sh_offset, names.sh_size);
  }
  imprint.hash = imprint.HashNow(buffer_);
  copy_ = CopyWindow(buffer_);
  return imprint;
}

}  // namespace unspool::unwind
