#include "exporters/symbolizer/module_tables.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdio>

namespace unspool::exporters {
namespace {

// The addresses that executable segments span, as linked.
CodeRange FindCode(const unwind::ElfFile& elf) {
  uint64_t start = UINT64_MAX;
  uint64_t end = 0;
  for (size_t i = 0; i < elf.program_header_count(); ++i) {
    const Elf64_Phdr header = elf.ProgramHeader(i);
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    start = std::min(start, header.p_vaddr);
    end = std::max(end, header.p_vaddr + header.p_memsz);
  }
  return {start, end};
}

// The vDSO image of this process: whole pages that end with its sections.
std::span<const uint8_t> VdsoBytes() {
  const auto* start =
      reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  if (start == nullptr) return {};
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  return {start, header->e_shoff +
                     size_t{header->e_shentsize} * size_t{header->e_shnum}};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ModuleTables>> ModuleTables::Open(
    const std::string& path, std::string_view build_id, Debuginfod* servers,
    std::string_view debug_root, const FoundFile& found) {
  std::shared_ptr<ModuleTables> tables(new ModuleTables);
  const std::string& opened = found.file.empty() ? path : found.file;
  if (const int error = tables->file_.Open(opened.c_str())) {
    return absl::ErrnoToStatus(error, "cannot be read");
  }
  absl::Status status = tables->Load(tables->file_.bytes(), build_id);
  if (!status.ok()) return status;
  tables->debug_files_.Load(tables->elf_, tables->file_.id(), path, debug_root,
                            found.root, servers);
  for (const unwind::ElfFile* file : tables->debug_files_.symbol_files()) {
    tables->symbols_.Add(*file);
  }
  tables->symbols_.Seal();
  return tables;
}

absl::StatusOr<std::shared_ptr<const ModuleTables>> ModuleTables::OpenVdso(
    std::string_view build_id) {
  std::shared_ptr<ModuleTables> tables(new ModuleTables);
  absl::Status status = tables->Load(VdsoBytes(), build_id);
  if (!status.ok()) return status;
  tables->symbols_.Seal();
  return tables;
}

absl::Status ModuleTables::Load(std::span<const uint8_t> bytes,
                                std::string_view build_id) {
  const unwind::ElfError error = elf_.Parse(bytes);
  if (error != unwind::ElfError::kNone) {
    return absl::InvalidArgumentError(unwind::ElfErrorText(error));
  }
  if (!build_id.empty() && BuildIdHex(elf_) != build_id) {
    return absl::InvalidArgumentError(
        "is not the file that was recorded: its build id differs");
  }
  symbols_.Add(elf_);
  return absl::OkStatus();
}

std::unique_ptr<DwarfNames> ModuleTables::OpenDwarf() const {
  return DwarfNames::Open(debug_files_, FindCode(elf_), symbols_);
}

// Debug files have the addresses of segments, not their bytes, and offsets of
// their own.
uint64_t ModuleTables::AddressOf(uint64_t file_offset,
                                 uint64_t code_offset) const {
  constexpr uint64_t kInPage = 4095;
  const auto loaded = AddressOfOffset(file_offset);
  if (loaded) return *loaded;
  for (size_t i = 0; i < elf_.program_header_count(); ++i) {
    const Elf64_Phdr header = elf_.ProgramHeader(i);
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 ||
        header.p_filesz != 0) {
      continue;
    }
    const uint64_t start =
        (code_offset & ~kInPage) | (header.p_vaddr & kInPage);
    if (file_offset - start < header.p_memsz) {
      return file_offset - start + header.p_vaddr;
    }
  }
  return file_offset;
}

std::optional<uint64_t> ModuleTables::AddressOfOffset(
    uint64_t file_offset) const {
  std::optional<uint64_t> found;
  for (size_t i = 0; i < elf_.program_header_count(); ++i) {
    const Elf64_Phdr header = elf_.ProgramHeader(i);
    if (header.p_type != PT_LOAD ||
        file_offset - header.p_offset >= header.p_filesz) {
      continue;
    }
    const uint64_t address = file_offset - header.p_offset + header.p_vaddr;
    // Segments may share bytes of the file; a sample is in one that executes.
    if ((header.p_flags & PF_X) != 0) return address;
    if (!found) found = address;
  }
  return found;
}

const FdeRanges& ModuleTables::fdes() const {
  std::call_once(fdes_once_, [this] { fdes_.emplace(elf_); });
  return *fdes_;
}

const PltStubs& ModuleTables::plt() const {
  std::call_once(plt_once_, [this] { plt_.emplace(elf_); });
  return *plt_;
}

std::string_view ModuleTables::FindPltTarget(uint64_t address) const {
  const PltTarget* target = plt().Find(address);
  if (target == nullptr || !target->symbol.empty()) {
    return target == nullptr ? std::string_view() : target->symbol;
  }
  const Symbol* resolver = symbols_.Find(target->resolver);
  return resolver == nullptr ? std::string_view() : resolver->name;
}

const Symbol* ModuleTables::FindSymbol(uint64_t address) const {
  const Symbol* symbol = FindCovering(address);
  if (symbol != nullptr) return symbol;
  // Nothing calls a signal trampoline, but callers are looked up at RA - 1:
  // glibc's FDE for __restore_rt begins a byte before it (libc_sigaction.c).
  symbol = symbols_.Find(address + 1);
  return symbol != nullptr && symbol->start == address + 1 &&
                 fdes().FindStart(address) == address
             ? symbol
             : nullptr;
}

const Symbol* ModuleTables::FindCovering(uint64_t address) const {
  const Symbol* symbol = symbols_.Find(address);
  if (symbol == nullptr || symbol->has_size) return symbol;
  const std::optional<uint64_t> fde_start = fdes().FindStart(address);
  if (!fde_start) {
    // Code without an FDE behind a function that has one.
    return fdes().FindStart(symbol->start) ? nullptr : symbol;
  }
  return *fde_start <= symbol->start ? symbol : nullptr;
}

std::string ModuleTables::NameByFde(uint64_t address,
                                    std::string_view module) const {
  const std::optional<uint64_t> start = fdes().FindStart(address);
  if (start && fdes().FindStart(elf_.entry()) == start) return "_start";
  char offset[32];
  std::snprintf(offset, sizeof(offset), "+0x%llx",
                static_cast<unsigned long long>(start.value_or(address)));
  return std::string(module) + offset;
}

}  // namespace unspool::exporters
