// A small well-formed ELF image in memory, for tests to damage.

#ifndef UNSPOOL_TESTS_UNWIND_LOAD_TEST_ELF_H_
#define UNSPOOL_TESTS_UNWIND_LOAD_TEST_ELF_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace unspool::unwind {

//   offset  what                        linked at
//   0x000   ELF header                  0x400000 (one PT_LOAD: the whole file)
//   0x040   4 program headers
//   0x120   a build id note of 20 bytes 0x400120
//   0x148   .eh_frame_hdr               0x400148
//   0x154   .eh_frame: the terminator   0x400154
//   0x158   .shstrtab
//   0x180   5 section headers
struct TestElf {
  static constexpr uint64_t kBase = 0x400000;
  static constexpr uint64_t kNote = 0x120;
  static constexpr uint64_t kHdr = 0x148;
  static constexpr uint64_t kFrame = 0x154;
  static constexpr uint64_t kNames = 0x158;
  static constexpr uint64_t kSections = 0x180;
  static constexpr char kNameBytes[] = "\0.note\0.eh_frame_hdr\0.eh_frame";
  static_assert(kNames + sizeof(kNameBytes) <= kSections);

  Elf64_Ehdr header = {
      .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_DYN,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_entry = kBase + 0x123,
      .e_phoff = sizeof(Elf64_Ehdr),
      .e_shoff = kSections,
      .e_flags = 0,
      .e_ehsize = sizeof(Elf64_Ehdr),
      .e_phentsize = sizeof(Elf64_Phdr),
      .e_phnum = 4,
      .e_shentsize = sizeof(Elf64_Shdr),
      .e_shnum = 5,
      .e_shstrndx = 4,
  };
  Elf64_Phdr programs[4] = {
      Program(PT_LOAD, 0, kSections + 5 * sizeof(Elf64_Shdr)),
      Program(PT_NOTE, kNote, kHdr - kNote),
      Program(PT_GNU_EH_FRAME, kHdr, kFrame - kHdr),
      Program(PT_GNU_STACK, 0, 0),
  };
  Elf64_Shdr sections[5] = {
      {},
      Section(1, SHT_NOTE, kNote, kHdr - kNote),
      Section(7, SHT_PROGBITS, kHdr, kFrame - kHdr),
      Section(21, SHT_PROGBITS, kFrame, kNames - kFrame),
      Section(0, SHT_STRTAB, kNames, sizeof(kNameBytes)),
  };
  // Version 1; eh_frame_ptr pcrel sdata4; no table. The pointer is 8 bytes
  // before its target.
  uint8_t eh_frame_hdr[12] = {1, 0x1b, 0xff, 0xff, 8, 0, 0, 0};

  static constexpr Elf64_Phdr Program(uint32_t type, uint64_t offset,
                                      uint64_t size) {
    return {.p_type = type,
            .p_flags = PF_R | PF_X,
            .p_offset = offset,
            .p_vaddr = kBase + offset,
            .p_paddr = 0,
            .p_filesz = size,
            .p_memsz = size,
            .p_align = 4};
  }
  static constexpr Elf64_Shdr Section(uint32_t name, uint32_t type,
                                      uint64_t offset, uint64_t size) {
    return {.sh_name = name,
            .sh_type = type,
            .sh_flags = SHF_ALLOC,
            .sh_addr = kBase + offset,
            .sh_offset = offset,
            .sh_size = size,
            .sh_link = 0,
            .sh_info = 0,
            .sh_addralign = 4,
            .sh_entsize = 0};
  }

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes(kSections + sizeof(sections));
    const auto put = [&bytes](uint64_t offset, const void* data, size_t size) {
      memcpy(bytes.data() + offset, data, size);
    };
    put(0, &header, sizeof(header));
    put(sizeof(header), programs, sizeof(programs));
    constexpr Elf64_Nhdr kNoteHeader = {4, 20, NT_GNU_BUILD_ID};
    put(kNote, &kNoteHeader, sizeof(kNoteHeader));
    put(kNote + 12, "GNU", 4);
    for (uint8_t i = 0; i < 20; ++i) bytes[kNote + 16 + i] = 0xa0 + i;
    put(kHdr, eh_frame_hdr, sizeof(eh_frame_hdr));
    put(kNames, kNameBytes, sizeof(kNameBytes));
    put(kSections, sections, sizeof(sections));
    return bytes;
  }
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_LOAD_TEST_ELF_H_
