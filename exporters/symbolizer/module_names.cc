#include "exporters/symbolizer/module_names.h"

#include <utility>

#include "exporters/symbolizer/demangle.h"

namespace unspool::exporters {

std::string SystemNameOf(std::string_view name) {
  return std::string(name.find_first_of("<>[]:(") == name.npos ? name : "");
}

ModuleNames::ModuleNames(std::shared_ptr<const ModuleTables> tables)
    : tables_(std::move(tables)), dwarf_(tables_->OpenDwarf()) {}

absl::StatusOr<std::unique_ptr<ModuleNames>> ModuleNames::Open(
    const std::string& path, std::string_view build_id,
    std::string_view debug_root) {
  Debuginfod servers;
  absl::StatusOr<std::shared_ptr<const ModuleTables>> tables =
      ModuleTables::Open(path, build_id, &servers, debug_root);
  if (!tables.ok()) return tables.status();
  return std::make_unique<ModuleNames>(*std::move(tables));
}

std::optional<uint32_t> ModuleNames::UnitAt(uint64_t address) const {
  return dwarf_ == nullptr ? std::nullopt : dwarf_->UnitAt(address);
}

const std::string& ModuleNames::Demangled(std::string_view symbol) {
  const auto [entry, is_new] = demangled_.try_emplace(symbol);
  if (is_new) entry->second = Demangle(std::string(symbol));
  return entry->second;
}

NamedFrame ModuleNames::Named(const DwarfFrame& frame) {
  NamedFrame named = {.name = frame.name,
                      .system_name = std::string(frame.linkage_name),
                      .file = std::string(frame.file),
                      .line = frame.line,
                      .start_line = frame.start_line};
  if (frame.linkage_name.empty()) {
    named.system_name = SystemNameOf(named.name);
  } else {
    named.name = Demangled(frame.linkage_name);
  }
  return named;
}

// The symbol names a function where DWARF does not, or not fully: C++ without a
// linkage name. That of other code, which a linker found identical, does not.
void ModuleNames::NameBySymbol(uint64_t address, std::string_view module,
                               NamedFrame* function) {
  const Symbol* symbol = tables_->FindSymbol(address);
  if (symbol != nullptr && (function->name.empty() ||
                            (symbol->name.starts_with("_Z") &&
                             !tables_->IsAlias(*symbol, function->name)))) {
    function->system_name = symbol->name;
    function->name = Demangled(symbol->name);
  }
  if (function->name.empty()) NameByPlt(address, function);
  if (function->name.empty()) {
    function->name = tables_->NameByFde(address, module);
    function->system_name = SystemNameOf(function->name);
  }
}

// As objdump(1) and debuggers call it.
void ModuleNames::NameByPlt(uint64_t address, NamedFrame* function) {
  const std::string_view target = tables_->FindPltTarget(address);
  if (target.empty()) return;
  function->name = Demangled(target) + "@plt";
  function->system_name = std::string(target) + "@plt";
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
