// Describes a loaded ELF object by its program headers, wherever they are read
// from: the object itself, or a copy.

#ifndef UNSPOOL_UNWIND_ELF_MODULE_H_
#define UNSPOOL_UNWIND_ELF_MODULE_H_

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/byte_source.h"
#include "unwind/cfi_lookup.h"
#include "unwind/module.h"

namespace unspool::unwind {

// A module with what the unwinder needs beside what it shows.
struct LoadedModule {
  static constexpr size_t kMaxSources = 2;
  static constexpr size_t kMaxLoads = 12;
  static constexpr size_t kMaxNotes = 4;

  Module module;
  // Tried in order: .eh_frame, .debug_frame.
  std::array<UnwindSource, kMaxSources> sources;
  uint8_t source_count = 0;
  // Readable PT_LOADs: all that may be read.
  uint8_t load_count = 0;
  std::array<AddressRange, kMaxLoads> loads;
  // Memory of ours that holds unwind data of a file: may be read, too.
  AddressRange copied;
  // GDB's __jit_debug_descriptor (jit_objects.h) of the program, at run time,
  // where its file tells of it; 0: not known.
  uint64_t jit_descriptor = 0;
  std::array<AddressRange, kMaxNotes> notes;  // PT_NOTEs
  uint8_t note_count = 0;

  std::span<const UnwindSource> source_list() const {
    return std::span(sources).first(source_count);
  }
  std::span<const AddressRange> load_list() const {
    return std::span(loads).first(load_count);
  }
  // At most kMaxSources. Async-signal-safe.
  void AddSource(const UnwindSource& source) {
    sources[source_count++] = source;
  }
  // Is `address` in an executable segment? Async-signal-safe.
  bool IsCode(uint64_t address) const;
};

// Reads what lies in a module's PT_LOADs, or was copied, by plain loads. Only
// for pinned ones.
class MappedSource {
 public:
  explicit MappedSource(const LoadedModule& module) : module_(module) {}

  // Async-signal-safe.
  std::span<const uint8_t> Window(uint64_t address, size_t size) {
    if (address - last_.address >= last_.size) last_ = FindLoad(address);
    if (last_.size == 0) return {};
    const uint64_t left = last_.address + last_.size - address;
    return {reinterpret_cast<const uint8_t*>(address),
            size < left ? size : left};
  }

 private:
  // The PT_LOAD, or copy, that `address` is in; size 0: none.
  AddressRange FindLoad(uint64_t address) const;

  const LoadedModule& module_;
  AddressRange last_;  // that a window lay in
};
template <>
inline constexpr bool kIsPinned<MappedSource> = true;

// The part of [address, address + size) that one of the module's PT_LOADs, or
// what was copied from its files, holds from `address` on. Async-signal-safe.
AddressRange ClipToLoads(const LoadedModule& module, uint64_t address,
                         size_t size);

// Fills ranges, segments and the place of PT_GNU_EH_FRAME from program headers.
// False if there is no PT_LOAD. Async-signal-safe.
bool DescribeSegments(std::span<const Elf64_Phdr> headers, uint64_t bias,
                      LoadedModule* module);

// NT_GNU_BUILD_ID among `notes`; size 0 if there is none. Async-signal-safe.
BuildId FindBuildId(std::span<const uint8_t> notes);

// Checks that `bytes`, the first of a module, are an ELF header of this
// machine's kind, and gives the run-time address of e_entry (0 for none). False
// if they are not. Async-signal-safe.
bool ParseElfHeader(std::span<const uint8_t> bytes, Elf64_Ehdr* header);

// Reads the rest through `source`: entry, build id, and .eh_frame, which is
// added to the sources if its header is there (with a table, or for an index to
// be built). Async-signal-safe.
template <ByteSource Source>
void DescribeContents(Source& source, LoadedModule* loaded) {
  Module& module = loaded->module;
  Elf64_Ehdr header;
  const auto start = source.Window(module.start, sizeof(Elf64_Ehdr));
  if (ParseElfHeader(start, &header) && header.e_entry != 0) {
    module.entry = module.bias + header.e_entry;
  }
  for (size_t i = 0; i < loaded->note_count && module.build_id.size == 0; ++i) {
    const auto [address, size] = loaded->notes[i];
    module.build_id = FindBuildId(source.Window(address, size));
  }
  if (module.eh_frame_hdr == 0) return;
  ByteReader reader(source.Window(module.eh_frame_hdr, kEhFrameHdrMaxSize),
                    module.eh_frame_hdr);
  const auto hdr = ParseEhFrameHdr(reader, module.eh_frame_hdr_size);
  if (!hdr || hdr->eh_frame == 0) return;
  UnwindSource eh_frame;
  // Its end is the terminator's; the segment's is the bound.
  const AddressRange bound = ClipToLoads(*loaded, hdr->eh_frame, SIZE_MAX);
  eh_frame.section.address = bound.address;
  eh_frame.section.size = bound.size;
  eh_frame.hdr = *hdr;
  if (bound.size != 0) loaded->AddSource(eh_frame);
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_ELF_MODULE_H_
