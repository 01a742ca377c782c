// All that names addresses of one module, for one thread: the module's tables,
// and a reader of its DWARF.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "exporters/symbolizer/debug_files.h"
#include "exporters/symbolizer/dwarf_names.h"
#include "exporters/symbolizer/module_tables.h"

namespace unspool::exporters {

struct NamedFrame {
  std::string name;         // demangled
  std::string system_name;  // as the symbol table or DWARF has it
  std::string file;         // "" if unknown
  int64_t line = 0;         // 0: unknown
  int64_t start_line = 0;
};

// The system name of a function that has a name and no symbol: the same, or
// none if it looks like C++, because pprof takes parameters and templates off
// such names that equal their system name.
// Not async-signal-safe: allocates.
std::string SystemNameOf(std::string_view name);

// Thread rule: one thread at a time; several may have one each of the same
// tables.
class ModuleNames {
 public:
  // Not async-signal-safe: allocates, reads files.
  explicit ModuleNames(std::shared_ptr<const ModuleTables> tables);

  // Opens tables and names in one; see ModuleTables::Open.
  static absl::StatusOr<std::unique_ptr<ModuleNames>> Open(
      const std::string& path, std::string_view build_id,
      std::string_view debug_root = kDebugRoot);

  // The frames at an ELF virtual address, innermost first; at least one. What
  // no symbol and no DWARF names has its name from ModuleTables::NameByFde.
  // Not async-signal-safe: allocates.
  std::vector<NamedFrame> Find(uint64_t address, std::string_view module);

  // Whether DWARF that was read so far is damaged; the rest of it is used.
  bool is_damaged() const { return dwarf_ != nullptr && dwarf_->is_damaged(); }

  // As DwarfNames::is_large().
  bool is_large() const { return dwarf_ != nullptr && dwarf_->is_large(); }

  // The number of the DWARF unit that the address lies in, if any: what lies in
  // one unit is best asked for together.
  std::optional<uint32_t> UnitAt(uint64_t address) const;

 private:
  NamedFrame Named(const DwarfFrame& frame);
  void NameBySymbol(uint64_t address, std::string_view module,
                    NamedFrame* function);
  void NameByPlt(uint64_t address, NamedFrame* function);
  const std::string& Demangled(std::string_view symbol);

  const std::shared_ptr<const ModuleTables> tables_;
  const std::unique_ptr<DwarfNames> dwarf_;  // null: there is none
  // By symbol, a view into the files: inlined functions recur at many
  // addresses.
  absl::flat_hash_map<std::string_view, std::string> demangled_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_MODULE_NAMES_H_
