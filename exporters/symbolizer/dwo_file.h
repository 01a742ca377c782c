// A file of split units: a .dwo, or a package of them (.dwp).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWO_FILE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWO_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporters/symbolizer/dwarf_sections.h"
#include "exporters/symbolizer/dwp_index.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"
#include "unwind/load/section_data.h"

namespace unspool::exporters {

// Const after Open, so that any number of threads may use one.
class DwoFile {
 public:
  // NotFound: there is no such file. InvalidArgument: it is damaged or not ELF.
  // Not async-signal-safe: allocates, reads files.
  absl::Status Open(const std::string& path);

  // The sections of the unit with this id: in a .dwo all that it has, and
  // whether the unit is among them is for the caller to see. nullopt if it is
  // not in the package.
  // Not async-signal-safe: allocates.
  std::optional<std::vector<DwarfSection>> SectionsOf(uint64_t id) const;

 private:
  absl::Status ReadIndex();

  unwind::MappedFile file_;
  unwind::ElfFile elf_;
  DwarfSections sections_;
  unwind::SectionData index_bytes_;
  std::optional<DwpIndex> index_;  // a package has one
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWO_FILE_H_
