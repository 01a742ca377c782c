#include "unwind/elf_module.h"

#include <cstring>

#include "unwind/self_memory.h"

namespace unspool::unwind {
namespace {

constexpr uint64_t PageDown(uint64_t address) {
  return address & ~(kPageSize - 1);
}
constexpr uint64_t PageUp(uint64_t address) {
  return PageDown(address + kPageSize - 1);
}

void AddLoad(const Elf64_Phdr& header, LoadedModule* loaded) {
  Module& module = loaded->module;
  const uint64_t start = module.bias + header.p_vaddr;
  const uint64_t end = start + header.p_memsz;
  if (end < start) return;
  if (module.end == 0 || PageDown(start) < module.start) {
    module.start = PageDown(start);
  }
  if (PageUp(end) > module.end) module.end = PageUp(end);
  if ((header.p_flags & PF_R) != 0 &&
      loaded->load_count < LoadedModule::kMaxLoads) {
    // The page's part before the segment is the file's too: where the ELF
    // header of linkers lies that start the first segment behind it.
    loaded->loads[loaded->load_count++] = {PageDown(start),
                                           end - PageDown(start)};
  }
  if ((header.p_flags & PF_X) != 0 &&
      module.segment_count < Module::kMaxSegments) {
    module.segments[module.segment_count++] = {
        PageDown(start), PageUp(end),
        header.p_offset - (start - PageDown(start))};
  }
}

// The part of [address, address + size) that `range` has from `address` on.
AddressRange Clip(const AddressRange& range, uint64_t address, size_t size) {
  const uint64_t offset = address - range.address;
  if (offset >= range.size) return {};
  const uint64_t left = range.size - offset;
  return {address, size < left ? size : left};
}

}  // namespace

bool LoadedModule::IsCode(uint64_t address) const {
  for (size_t i = 0; i < module.segment_count; ++i) {
    const Segment& segment = module.segments[i];
    if (segment.start <= address && address < segment.end) return true;
  }
  return false;
}

AddressRange MappedSource::FindLoad(uint64_t address) const {
  for (const AddressRange& load : module_.load_list()) {
    if (address - load.address < load.size) return load;
  }
  const AddressRange& copied = module_.copied;
  return address - copied.address < copied.size ? copied : AddressRange();
}

AddressRange ClipToLoads(const LoadedModule& module, uint64_t address,
                         size_t size) {
  for (const AddressRange& load : module.load_list()) {
    const AddressRange clipped = Clip(load, address, size);
    if (clipped.size != 0) return clipped;
  }
  return Clip(module.copied, address, size);
}

bool DescribeSegments(std::span<const Elf64_Phdr> headers, uint64_t bias,
                      LoadedModule* loaded) {
  Module& module = loaded->module;
  module.bias = bias;
  for (const Elf64_Phdr& header : headers) {
    const uint64_t address = bias + header.p_vaddr;
    switch (header.p_type) {
      case PT_LOAD:
        AddLoad(header, loaded);
        break;
      case PT_GNU_EH_FRAME:
        module.eh_frame_hdr = address;
        module.eh_frame_hdr_size = header.p_memsz;
        break;
      case PT_NOTE:
        if (loaded->note_count < LoadedModule::kMaxNotes) {
          loaded->notes[loaded->note_count++] = {address, header.p_memsz};
        }
        break;
      default:
        break;
    }
  }
  return module.end != 0;
}

// Padding is by 4 here. Notes that are padded by 8 (.note.gnu.property) have a
// segment of their own.
BuildId FindBuildId(std::span<const uint8_t> notes) {
  BuildId id;
  ByteReader reader(notes, 0);
  while (!reader.empty()) {
    const uint32_t name_size = reader.U32();
    const uint32_t size = reader.U32();
    const uint32_t type = reader.U32();
    const auto name = reader.Bytes(name_size);
    reader.Skip((0 - uint64_t{name_size}) & 3);
    const auto description = reader.Bytes(size);
    if (!reader.ok()) break;
    if (type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(name.data(), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
        size <= BuildId::kMaxSize) {
      id.size = static_cast<uint8_t>(size);
      std::memcpy(id.bytes.data(), description.data(), size);
      break;
    }
    reader.Skip((0 - uint64_t{size}) & 3);
  }
  return id;
}

bool ParseElfHeader(std::span<const uint8_t> bytes, Elf64_Ehdr* header) {
  if (bytes.size() < sizeof(*header)) return false;
  std::memcpy(header, bytes.data(), sizeof(*header));
  return std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_ident[EI_DATA] == ELFDATA2LSB;
}

}  // namespace unspool::unwind
