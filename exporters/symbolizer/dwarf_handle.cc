#include "exporters/symbolizer/dwarf_handle.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <cstddef>

namespace unspool::exporters {
namespace {

// An ELF file that is being made and never written: its sections may point
// anywhere, so that nothing is copied. libelf wants a file for it.
Elf* BeginElf() {
  elf_version(EV_CURRENT);
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  Elf* elf = elf_begin(fd, ELF_C_WRITE, nullptr);
  close(fd);
  return elf;
}

size_t AddSection(Elf* elf, uint32_t type, size_t name, const void* bytes,
                  size_t size) {
  Elf_Scn* section = elf_newscn(elf);
  Elf_Data* data = section == nullptr ? nullptr : elf_newdata(section);
  GElf_Shdr header;
  if (data == nullptr || gelf_getshdr(section, &header) == nullptr) return 0;
  data->d_buf = const_cast<void*>(bytes);
  data->d_size = size;
  data->d_type = ELF_T_BYTE;
  data->d_align = 1;
  header.sh_type = type;
  header.sh_name = static_cast<GElf_Word>(name);
  header.sh_size = size;
  return gelf_update_shdr(section, &header) != 0 ? elf_ndxscn(section) : 0;
}

bool SetHeader(Elf* elf, size_t names_index) {
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) return false;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shstrndx = static_cast<GElf_Half>(names_index);
  return gelf_update_ehdr(elf, &header) != 0;
}

}  // namespace

void DwarfHandle::ElfEnd::operator()(Elf* elf) const { elf_end(elf); }
void DwarfHandle::DwarfEnd::operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }

DwarfHandle::DwarfHandle(std::span<const DwarfSection> sections)
    : names_(std::make_unique<std::string>(1, '\0')), elf_(BeginElf()) {
  Elf* elf = elf_.get();
  if (elf == nullptr || gelf_newehdr(elf, ELFCLASS64) == nullptr) return;
  for (const DwarfSection& section : sections) {
    const size_t name = names_->size();
    names_->append(section.name).push_back('\0');
    if (AddSection(elf, SHT_PROGBITS, name, section.bytes.data(),
                   section.bytes.size()) == 0) {
      return;
    }
  }
  const size_t index =
      AddSection(elf, SHT_STRTAB, 0, names_->data(), names_->size());
  if (index == 0 || !SetHeader(elf, index)) return;
  dwarf_.reset(dwarf_begin_elf(elf, DWARF_C_READ, nullptr));
}

}  // namespace unspool::exporters
