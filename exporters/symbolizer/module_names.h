// All that names addresses of one module: symbol tables, DWARF, FDEs, the
// file's and its debug file's.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exporters/symbolizer/debug_file.h"
#include "exporters/symbolizer/dwarf_names.h"
#include "exporters/symbolizer/fde_ranges.h"
#include "exporters/symbolizer/symbol_table.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {

struct NamedFrame {
  std::string name;         // demangled
  std::string system_name;  // as the symbol table or DWARF has it
  std::string file;         // "" if unknown
  int64_t line = 0;         // 0: unknown
  int64_t start_line = 0;
};

// Thread rule: one thread at a time.
class ModuleNames {
 public:
  // Opens the file at `path` and what belongs to it. `build_id` (hex) is the
  // one that was recorded; "" takes any file.
  // NotFound and the like: no such file. InvalidArgument: not ELF, or not the
  // file that was recorded.
  // Not async-signal-safe: allocates, reads files.
  static absl::StatusOr<std::unique_ptr<ModuleNames>> Open(
      const std::string& path, std::string_view build_id,
      std::string_view debug_root = kDebugRoot);

  // The same for the [vdso] of this process.
  static absl::StatusOr<std::unique_ptr<ModuleNames>> OpenVdso(
      std::string_view build_id);

  // The ELF virtual address of the byte at `file_offset`, if it is loaded.
  std::optional<uint64_t> AddressOfOffset(uint64_t file_offset) const;

  // The frames at an ELF virtual address, innermost first; at least one. What
  // no symbol and no DWARF names is "_start" at the program's entry, else
  // `module`+0x… with the first address of its FDE, else with the address.
  // Not async-signal-safe: allocates.
  std::vector<NamedFrame> Find(uint64_t address, std::string_view module);

 private:
  ModuleNames() = default;
  absl::Status Load(std::span<const uint8_t> bytes, std::string_view build_id);
  void LoadDebugFile(const std::string& path, std::string_view debug_root);
  const FdeRanges& fdes();
  const Symbol* FindSymbol(uint64_t address);
  NamedFrame Named(const DwarfFrame& frame);
  void NameBySymbol(uint64_t address, std::string_view module,
                    NamedFrame* function);
  const std::string& Demangled(std::string_view symbol);
  std::string NameByFde(uint64_t address, std::string_view module);

  unwind::MappedFile file_;
  unwind::MappedFile debug_file_;
  unwind::ElfFile elf_;
  SymbolTable symbols_;
  std::unique_ptr<DwarfNames> dwarf_;
  // By symbol, a view into the files: inlined functions recur at many
  // addresses.
  absl::flat_hash_map<std::string_view, std::string> demangled_;
  std::optional<FdeRanges> fdes_;  // read when first needed
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_
