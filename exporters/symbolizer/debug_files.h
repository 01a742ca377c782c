// The files that say what a module's code is called, beside its own symbol
// tables: its debug file, the symbols in .gnu_debugdata, what dwz moved to a
// file that several modules share. Which of them has the DWARF is settled here.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/symbolizer/debuginfod.h"
#include "exporters/symbolizer/dwarf_sections.h"
#include "exporters/symbolizer/split_dwarf.h"
#include "unwind/load/debug_file.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"
#include "unwind/load/owned_bytes.h"

namespace unspool::exporters {

// Where distributions put debug files.
inline constexpr std::string_view kDebugRoot = unwind::kDebugFolder;

// Lower-case hex; "" if there is none.
// Not async-signal-safe: allocates.
std::string BuildIdHex(const unwind::ElfFile& elf);

// Const after Load, so that any number of threads may use one.
class DebugFiles {
 public:
  DebugFiles() = default;
  DebugFiles(const DebugFiles&) = delete;
  DebugFiles& operator=(const DebugFiles&) = delete;

  // Finds the files of the module `elf`, which is the file `id` at `path` and
  // must outlive this object, as `root` must, below which paths are looked up
  // (see unwind::MappedFile). `servers` are asked for what is not here; null:
  // none. Called once.
  // Not async-signal-safe: allocates, reads files.
  void Load(const unwind::ElfFile& elf, unwind::FileId id,
            const std::string& path, std::string_view debug_root,
            const std::string& root, Debuginfod* servers);

  // Files that have symbols besides the module's own.
  std::vector<const unwind::ElfFile*> symbol_files() const;

  // The module's DWARF: its own, else its debug file's; null if there is none
  // that can be read. `alt`: what it refers to in a shared file; null if there
  // is none.
  const DwarfSections* dwarf() const { return dwarf_ ? &*dwarf_ : nullptr; }
  const DwarfSections* alt() const { return alt_ ? &*alt_ : nullptr; }

  // The file that dwarf() is of. Precondition: dwarf().
  const std::string& dwarf_path() const { return dwarf_path_; }

  // The other halves of the DWARF's units.
  const SplitDwarf& split() const { return split_; }

  // What was found and is not used, one line each: "PATH: why".
  // Not async-signal-safe: allocates.
  std::vector<std::string> problems() const;

 private:
  bool Download(const unwind::BuildId& build_id, Debuginfod* servers,
                unwind::DebugFile* file);
  void LoadMiniSymbols(const unwind::ElfFile& elf, const std::string& path);
  void LoadAlt(const unwind::ElfFile& elf, const unwind::DebugFileQuery& query,
               Debuginfod* servers);
  std::optional<DwarfSections> ReadDwarf(const unwind::ElfFile& elf,
                                         const std::string& path);
  void CheckSections(const unwind::ElfFile& elf, const std::string& path);
  unwind::RejectedFiles Rejected();

  unwind::DebugFile debug_file_;
  bool has_debug_file_ = false;
  unwind::OwnedBytes mini_bytes_;
  unwind::ElfFile mini_;  // .gnu_debugdata; without sections if there is none
  unwind::DebugFile alt_file_;
  std::optional<DwarfSections> dwarf_;
  std::string dwarf_path_;
  std::optional<DwarfSections> alt_;
  SplitDwarf split_;
  std::vector<std::string> problems_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILES_H_
