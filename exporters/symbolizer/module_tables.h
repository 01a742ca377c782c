// What all threads that name addresses of one module share: its files, their
// symbols, and where its functions begin.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_TABLES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_TABLES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/symbolizer/debug_files.h"
#include "exporters/symbolizer/dwarf_names.h"
#include "exporters/symbolizer/fde_ranges.h"
#include "exporters/symbolizer/plt_stubs.h"
#include "exporters/symbolizer/recorded_files.h"
#include "exporters/symbolizer/symbol_table.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {

// Thread rule: any number of threads may call the members.
class ModuleTables {
 public:
  // Opens the file at `path` and what belongs to it. `build_id` (hex) is the
  // one that was recorded; "" takes any file. `servers` are asked for debug
  // files that are not here; null: none. `found`: where it can be opened
  // instead.
  // NotFound and the like: no such file. InvalidArgument: not ELF, or not the
  // file that was recorded.
  // Not async-signal-safe: allocates, reads files.
  static absl::StatusOr<std::shared_ptr<const ModuleTables>> Open(
      const std::string& path, std::string_view build_id, Debuginfod* servers,
      std::string_view debug_root = kDebugRoot, const FoundFile& found = {});

  // The same for the [vdso] of this process.
  static absl::StatusOr<std::shared_ptr<const ModuleTables>> OpenVdso(
      std::string_view build_id);

  // A reader of the module's DWARF, the file's own or its debug file's; each
  // thread wants one of its own. Null if there is none.
  // Not async-signal-safe: allocates, reads files.
  std::unique_ptr<DwarfNames> OpenDwarf() const;

  // Files that were found and are not used, one line each: "PATH: why".
  // Not async-signal-safe: allocates.
  std::vector<std::string> problems() const { return debug_files_.problems(); }

  // What to say where a reader of the DWARF found it damaged.
  // Not async-signal-safe: allocates.
  std::string DamageText() const {
    return debug_files_.dwarf_path() +
           ": its DWARF is damaged: functions and lines of some units are "
           "missing";
  }

  // The ELF virtual address of the byte at `file_offset`; the offset itself
  // where that is not loaded. `code_offset` is where in the file the mapping
  // began: a file that is only a debug file does not know it.
  uint64_t AddressOf(uint64_t file_offset, uint64_t code_offset) const;

  // The symbol that covers the address; null if there is none. One without a
  // size is believed unless an FDE says that another function is there. The
  // byte before a signal trampoline is the trampoline's if its FDE has it.
  // Not async-signal-safe: allocates.
  const Symbol* FindSymbol(uint64_t address) const;

  // Whether the code that `symbol` covers is called `name` by another one.
  bool IsAlias(const Symbol& symbol, std::string_view name) const {
    return symbols_.HasName(symbol, name);
  }

  // The symbol that the PLT stub at the address calls; "" if there is no stub.
  // Not async-signal-safe: allocates.
  std::string_view FindPltTarget(uint64_t address) const;

  // A name for code without a symbol: "_start" at the program's entry, else
  // `module`+0x… with the first address of its FDE, else with the address.
  // Not async-signal-safe: allocates.
  std::string NameByFde(uint64_t address, std::string_view module) const;

 private:
  ModuleTables() = default;
  absl::Status Load(std::span<const uint8_t> bytes, std::string_view build_id);
  const Symbol* FindCovering(uint64_t address) const;
  std::optional<uint64_t> AddressOfOffset(uint64_t file_offset) const;
  const FdeRanges& fdes() const;
  const PltStubs& plt() const;

  unwind::MappedFile file_;
  unwind::ElfFile elf_;
  DebugFiles debug_files_;
  SymbolTable symbols_;
  mutable std::once_flag fdes_once_;
  mutable std::optional<FdeRanges> fdes_;  // read when first needed
  mutable std::once_flag plt_once_;
  mutable std::optional<PltStubs> plt_;  // the same
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_TABLES_H_
