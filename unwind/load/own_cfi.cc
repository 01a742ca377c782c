#include "unwind/load/own_cfi.h"

#include <elf.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "unwind/cfi_lookup.h"
#include "unwind/jit_objects.h"
#include "unwind/load/debug_file.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"
#include "unwind/load/section_data.h"
#include "unwind/mapped_memory.h"

namespace unspool::unwind {
namespace {

// Chromium's, with 200 MB of code, would have 40.
constexpr uint64_t kMaxDebugFrame = uint64_t{256} << 20;

// Whether the open file may have .debug_frame, .zdebug_frame or, if
// `or_symbols`, a .symtab: by reading, which costs a tenth of mapping the file
// and its page faults.
bool MayHaveMore(int fd, bool or_symbols) {
  Elf64_Ehdr header;
  if (pread(fd, &header, sizeof(header), 0) != sizeof(header)) return false;
  std::array<Elf64_Shdr, 64> sections;
  if (header.e_shentsize != sizeof(sections[0]) ||
      header.e_shnum > sections.size() || header.e_shstrndx >= header.e_shnum) {
    return header.e_shoff != 0;
  }
  pread(fd, sections.data(), header.e_shnum * sizeof(sections[0]),
        static_cast<off_t>(header.e_shoff));
  const Elf64_Shdr& names = sections[header.e_shstrndx];
  std::array<char, 2048> text;
  if (names.sh_size > text.size()) return true;
  const ssize_t size = pread(fd, text.data(), names.sh_size,
                             static_cast<off_t>(names.sh_offset));
  const auto has = [&](std::string_view name) {
    return size > 0 && memmem(text.data(), static_cast<size_t>(size),
                              name.data(), name.size()) != nullptr;
  };
  return has("debug_frame") || (or_symbols && has(".symtab"));
}

bool MayHaveMore(const char* path, bool or_symbols) {
  const int fd = OpenBelow(path, "");
  if (fd < 0) return false;
  const bool may_have = MayHaveMore(fd, or_symbols);
  close(fd);
  return may_have;
}

// The file may have been replaced since it was loaded. What has no build id is
// known by its ELF header, if that is mapped.
bool IsSameBuild(const LoadedModule& loaded, const MappedFile& file,
                 const ElfFile& elf) {
  const Module& module = loaded.module;
  if (module.build_id.size > 0) return elf.FindBuildId() == module.build_id;
  const auto header =
      MappedSource(loaded).Window(module.start, sizeof(Elf64_Ehdr));
  Elf64_Ehdr unused;
  return !ParseElfHeader(header, &unused) ||
         std::memcmp(header.data(), file.bytes().data(), header.size()) == 0;
}

// Run-time addresses minus those of `elf`, which are not those of the module if
// prelink(8) has moved that since its debug file was made.
uint64_t BiasOf(const ElfFile& elf, const Module& module) {
  const auto first = elf.FindProgramHeader(PT_LOAD);
  if (!first) return module.bias;
  return module.start - (first->p_vaddr & ~(kPageSize - 1));
}

void AddEhFrame(const ElfFile& elf, LoadedModule* loaded) {
  const auto section = elf.FindSection(".eh_frame");
  if (!section || (section->sh_flags & SHF_ALLOC) == 0) return;
  UnwindSource eh_frame;
  eh_frame.section.address = loaded->module.bias + section->sh_addr;
  eh_frame.section.size = section->sh_size;
  eh_frame.section.has_exact_size = true;
  const AddressRange mapped =
      ClipToLoads(*loaded, eh_frame.section.address, eh_frame.section.size);
  if (mapped.size == section->sh_size) loaded->AddSource(eh_frame);
}

// False if there is none that can be used.
bool AddDebugFrame(const ElfFile& elf, LoadedModule* loaded) {
  SectionData data;
  if (data.Load(elf, ".debug_frame", kMaxDebugFrame) != SectionError::kNone ||
      data.bytes().empty()) {
    return false;
  }
  const auto copy = MapArray<uint8_t>(data.bytes().size());
  if (copy.empty()) return false;
  std::memcpy(copy.data(), data.bytes().data(), copy.size());
  UnwindSource debug_frame;
  debug_frame.section = {
      .format = CfiFormat::kDebugFrame,
      .address = reinterpret_cast<uint64_t>(copy.data()),
      .size = copy.size(),
      .bases = {},
      .bias = BiasOf(elf, loaded->module),
  };
  loaded->copied = {debug_frame.section.address, debug_frame.section.size};
  loaded->AddSource(debug_frame);
  return true;
}

// Whether `pc` is between two FDEs of a long search table that begin near each
// other: then it has one, or is padding. Spares most page faults in .eh_frame.
bool IsCoveredByTable(MappedSource& bytes, const EhFrameHdr& hdr, uint64_t pc) {
  constexpr uint64_t kLong = 64;
  constexpr uint64_t kNear = 4096;
  if (hdr.count < kLong) return false;
  const uint64_t count = CountEntriesUpTo(bytes, hdr, pc);
  if (count == 0 || count == hdr.count) return false;
  const auto before = ReadEhFrameHdrEntry(bytes, hdr, count - 1);
  const auto behind = ReadEhFrameHdrEntry(bytes, hdr, count);
  return before && behind && behind->pc_begin - before->pc_begin <= kNear;
}

bool IsCovered(const LoadedModule& loaded, uint64_t pc) {
  MappedSource bytes(loaded);
  for (const UnwindSource& source : loaded.source_list()) {
    if (IsCoveredByTable(bytes, source.hdr, pc)) return true;
    Cie cie;
    Fde fde;
    if (FindFde(bytes, source, pc, &cie, &fde) == FdeLookup::kFound) {
      return true;
    }
  }
  return false;
}

// Three quarters of 16 places spread evenly over the code.
bool IsMostlyCovered(const LoadedModule& loaded) {
  constexpr uint64_t kPlaces = 16;
  const std::span segments =
      std::span(loaded.module.segments).first(loaded.module.segment_count);
  uint64_t size = 0;
  for (const Segment& segment : segments) size += segment.end - segment.start;
  const uint64_t step = size / kPlaces;
  if (step == 0) return false;
  uint64_t covered = 0;
  uint64_t next = step / 2;  // within what is left
  for (const Segment& segment : segments) {
    const uint64_t segment_size = segment.end - segment.start;
    for (; next < segment_size; next += step) {
      covered += IsCovered(loaded, segment.start + next) ? 1 : 0;
    }
    next -= segment_size;
  }
  return covered >= kPlaces * 3 / 4;
}

// Looks for GDB's descriptor among the symbols that no hash table has. Most are
// told apart by type and size: their names are many times as much to read.
void FindJitDescriptor(const ElfFile& elf, LoadedModule* loaded) {
  constexpr std::string_view kName(kJitDescriptor, sizeof(kJitDescriptor));
  for (size_t i = 1; i < elf.section_count(); ++i) {
    const Elf64_Shdr section = elf.Section(i);
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto symbols = elf.Contents(section);
    const auto names = elf.Contents(elf.Section(section.sh_link));
    if (!symbols || !names) return;
    const std::span bytes = symbols->bytes;
    for (size_t j = 0; j < bytes.size() / sizeof(Elf64_Sym); ++j) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, &bytes[j * sizeof(symbol)], sizeof(symbol));
      const uint64_t name = symbol.st_name;
      if (symbol.st_size == kJitDescriptorSize &&
          ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT &&
          name + kName.size() <= names->bytes.size() &&
          std::memcmp(&names->bytes[name], kName.data(), kName.size()) == 0) {
        loaded->jit_descriptor = loaded->module.bias + symbol.st_value;
        return;
      }
    }
  }
}

}  // namespace

void AddCfiFromFiles(LoadedModule* loaded) {
  const Module& module = loaded->module;
  const bool is_covered = IsMostlyCovered(*loaded);
  if (module.is_vdso ||
      (is_covered && !MayHaveMore(module.path, module.is_main))) {
    return;
  }
  MappedFile file;
  ElfFile elf;
  if (file.Open(module.path) != 0 ||
      elf.Parse(file.bytes()) != ElfError::kNone ||
      !IsSameBuild(*loaded, file, elf)) {
    return;
  }
  if (module.is_main) FindJitDescriptor(elf, loaded);
  if (loaded->source_count == 0) AddEhFrame(elf, loaded);
  if (AddDebugFrame(elf, loaded) || is_covered) return;
  DebugFile debug;
  if (debug.Find(elf, {.path = module.path, .id = file.id()}, {})) {
    AddDebugFrame(debug.elf(), loaded);
  }
}

}  // namespace unspool::unwind
