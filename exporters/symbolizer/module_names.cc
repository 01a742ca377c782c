#include "exporters/symbolizer/module_names.h"

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "exporters/symbolizer/demangle.h"

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

// pprof takes parameters and templates off a name that equals its system name
// and looks like C++: such a name, known from DWARF without a symbol, has no
// system name.
std::string SystemName(std::string_view name) {
  return std::string(name.find_first_of("<>[]:(") == name.npos ? name : "");
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

absl::StatusOr<std::unique_ptr<ModuleNames>> ModuleNames::Open(
    const std::string& path, std::string_view build_id,
    std::string_view debug_root) {
  std::unique_ptr<ModuleNames> names(new ModuleNames);
  if (const int error = names->file_.Open(path.c_str())) {
    return absl::ErrnoToStatus(error, "cannot be read");
  }
  absl::Status status = names->Load(names->file_.bytes(), build_id);
  if (!status.ok()) return status;
  names->dwarf_ = DwarfNames::Open(path, FindCode(names->elf_));
  names->LoadDebugFile(path, debug_root);
  names->symbols_.Seal();
  return names;
}

absl::StatusOr<std::unique_ptr<ModuleNames>> ModuleNames::OpenVdso(
    std::string_view build_id) {
  std::unique_ptr<ModuleNames> names(new ModuleNames);
  absl::Status status = names->Load(VdsoBytes(), build_id);
  if (!status.ok()) return status;
  names->symbols_.Seal();
  return names;
}

absl::Status ModuleNames::Load(std::span<const uint8_t> bytes,
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

void ModuleNames::LoadDebugFile(const std::string& path,
                                std::string_view debug_root) {
  const std::string debug_path = FindDebugFile(elf_, path, debug_root);
  unwind::ElfFile debug_elf;
  if (debug_path.empty() || debug_file_.Open(debug_path.c_str()) != 0 ||
      debug_elf.Parse(debug_file_.bytes()) != unwind::ElfError::kNone) {
    return;
  }
  symbols_.Add(debug_elf);
  if (dwarf_ != nullptr) return;
  dwarf_ = DwarfNames::Open(debug_path, FindCode(elf_));
}

std::optional<uint64_t> ModuleNames::AddressOfOffset(
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

const FdeRanges& ModuleNames::fdes() {
  if (!fdes_) fdes_.emplace(elf_);
  return *fdes_;
}

// A symbol without a size is believed unless an FDE says that the address is in
// a function that begins behind it.
const Symbol* ModuleNames::FindSymbol(uint64_t address) {
  const Symbol* symbol = symbols_.Find(address);
  if (symbol == nullptr || symbol->has_size) return symbol;
  const std::optional<uint64_t> fde_start = fdes().FindStart(address);
  if (!fde_start) {
    // Code without an FDE behind a function that has one.
    return fdes().FindStart(symbol->start) ? nullptr : symbol;
  }
  return *fde_start <= symbol->start ? symbol : nullptr;
}

const std::string& ModuleNames::Demangled(std::string_view symbol) {
  const auto [entry, is_new] = demangled_.try_emplace(symbol);
  if (is_new) entry->second = Demangle(std::string(symbol));
  return entry->second;
}

std::string ModuleNames::NameByFde(uint64_t address, std::string_view module) {
  const std::optional<uint64_t> start = fdes().FindStart(address);
  if (start && fdes().FindStart(elf_.entry()) == start) return "_start";
  char offset[32];
  std::snprintf(offset, sizeof(offset), "+0x%llx",
                static_cast<unsigned long long>(start.value_or(address)));
  return std::string(module) + offset;
}

NamedFrame ModuleNames::Named(const DwarfFrame& frame) {
  NamedFrame named = {.name = frame.name,
                      .system_name = std::string(frame.linkage_name),
                      .file = std::string(frame.file),
                      .line = frame.line,
                      .start_line = frame.start_line};
  if (frame.linkage_name.empty()) {
    named.system_name = SystemName(named.name);
  } else {
    named.name = Demangled(frame.linkage_name);
  }
  return named;
}

// The symbol names a function where DWARF does not, or not fully: C++ without a
// linkage name.
void ModuleNames::NameBySymbol(uint64_t address, std::string_view module,
                               NamedFrame* function) {
  const Symbol* symbol = FindSymbol(address);
  if (symbol != nullptr &&
      (function->name.empty() || symbol->name.starts_with("_Z"))) {
    function->system_name = symbol->name;
    function->name = Demangled(symbol->name);
  }
  if (function->name.empty()) {
    function->name = NameByFde(address, module);
    function->system_name = SystemName(function->name);
  }
}

std::vector<NamedFrame> ModuleNames::Find(uint64_t address,
                                          std::string_view module) {
  std::vector<DwarfFrame> known;
  if (dwarf_ != nullptr) known = dwarf_->Find(address);
  if (known.empty()) known.emplace_back();
  std::vector<NamedFrame> frames;
  frames.reserve(known.size());
  for (const DwarfFrame& frame : known) frames.push_back(Named(frame));
  // The outermost is the function that the code was emitted for.
  if (known.back().linkage_name.empty()) {
    NameBySymbol(address, module, &frames.back());
  }
  return frames;
}

}  // namespace unspool::exporters
