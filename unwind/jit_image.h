// An ELF image in memory of the process that a compiler at run time announced:
// where its code is, what a function is called, what unwinds it.
//
// By copies, since the compiler may free it at any moment; what is read is
// checked as any file's. Addresses in it are those of the process, but for
// symbols of relocatable objects, which count from their section (gABI).
// Relocations are not applied: compilers do that where they put the code, and
// say so by the section's address.

#ifndef UNSPOOL_UNWIND_JIT_IMAGE_H_
#define UNSPOOL_UNWIND_JIT_IMAGE_H_

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/cfi_entry.h"

namespace unspool::unwind {

// A ByteSource over all memory of the process: what lies near the bytes before
// costs no system call.
class CopyWindow {
 public:
  // `buffer` has kMinWindowSize bytes or more.
  explicit CopyWindow(std::span<uint8_t> buffer) : buffer_(buffer) {}

  // Async-signal-safe.
  std::span<const uint8_t> Window(uint64_t address, size_t size);

  // False if not all of it can be read. Async-signal-safe.
  template <class T>
  bool Read(uint64_t address, T* value) {
    const auto bytes = Window(address, sizeof(*value));
    if (bytes.size() != sizeof(*value)) return false;
    std::memcpy(value, bytes.data(), sizeof(*value));
    return true;
  }

 private:
  std::span<uint8_t> buffer_;
  uint64_t start_ = 0;
  size_t size_ = 0;
};

// Parts of an image, and a hash of what is in them.
struct JitImprint {
  std::array<AddressRange, 3> parts;
  uint64_t hash = 0;

  // Of what is there now, through `buffer`. Async-signal-safe.
  uint64_t HashNow(std::span<uint8_t> buffer) const;
};

class JitImage {
 public:
  struct Function {
    uint64_t start = 0;
    uint64_t size = 0;
    uint64_t name = 0;  // its address; NUL-terminated, if it can be read
  };

  // [address, address + size) is the image; `buffer` holds copies of it.
  JitImage(uint64_t address, uint64_t size, std::span<uint8_t> buffer)
      : buffer_(buffer), copy_(buffer), address_(address), size_(size) {}

  // False: no ELF image for this machine, or one without section headers; then
  // nothing else may be called. Async-signal-safe, as all below.
  bool Open();

  // The executable sections that have an address, as far as they are among the
  // first kMaxSections.
  template <class OnCode>
  void ForEachCode(OnCode&& on_code) {
    Elf64_Shdr section;
    for (uint32_t i = 1; ReadSection(i, &section); ++i) {
      if ((section.sh_flags & SHF_EXECINSTR) == 0 || section.sh_addr == 0 ||
          section.sh_size == 0 ||
          section.sh_addr + section.sh_size < section.sh_addr) {
        continue;
      }
      on_code(section.sh_addr, section.sh_addr + section.sh_size);
    }
  }

  // The function that has `pc`, of the first kMaxSymbols symbols.
  bool FindFunction(uint64_t pc, Function* function);

  // The FDE that covers `pc`, in .eh_frame or else .debug_frame, and the
  // section that it is in. Only where the section has been relocated, or needs
  // no relocation.
  bool FindFde(uint64_t pc, CfiSection* section, Fde* fde);

  // What tells images at one place apart: the beginnings of section headers,
  // symbols and names.
  JitImprint Imprint();

 private:
  static constexpr uint32_t kMaxSections = 4096;
  static constexpr uint64_t kMaxSymbols = 65536;
  static constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 20;

  bool ReadSection(uint32_t index, Elf64_Shdr* section);
  bool FindSymbols(Elf64_Shdr* symbols, Elf64_Shdr* names);
  uint64_t AddressOf(const Elf64_Sym& symbol);
  bool IsNamed(const Elf64_Shdr& section, const char* name);
  bool FindSection(const char* name, Elf64_Shdr* section, uint32_t* index);
  bool HasRelocations(uint32_t index);
  bool FindFrameSection(CfiFormat format, uint64_t pc, CfiSection* section);
  uint64_t SectionOf(uint64_t pc);

  std::span<uint8_t> buffer_;
  CopyWindow copy_;
  uint64_t address_;
  uint64_t size_;
  uint64_t sections_ = 0;  // address of the first header
  uint32_t section_count_ = 0;
  uint32_t names_section_ = 0;
  bool is_relocatable_ = false;
  // The section that a symbol was in last.
  uint32_t last_index_ = 0;
  uint64_t last_address_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_JIT_IMAGE_H_
