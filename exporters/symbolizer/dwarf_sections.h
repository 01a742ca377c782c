// The DWARF sections of one file that names and lines come from, decompressed.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_SECTIONS_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_SECTIONS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exporters/symbolizer/dwarf_handle.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/section_data.h"

namespace unspool::exporters {

// Const after Load, so that any number of threads may use one.
class DwarfSections {
 public:
  // More is not decompressed: the largest programs known have 4 GiB of DWARF.
  static constexpr uint64_t kMaxInflatedSize = uint64_t{1} << 32;

  // Takes the sections that names need; what `elf` reads must outlive this
  // object. With the suffix ".dwo" those of split units.
  // NotFound: there is no .debug_info. InvalidArgument: a section is damaged or
  // compressed in a way that is not supported; the message names it.
  // Not async-signal-safe: allocates.
  absl::Status Load(const unwind::ElfFile& elf, const char* suffix = "");

  // By their names without the suffix. Empty, or with a ".debug_info".
  std::span<const DwarfSection> list() const { return list_; }
  // Empty if there is no such section.
  std::span<const uint8_t> Find(std::string_view name) const;

 private:
  absl::Status Add(const unwind::ElfFile& elf, const char* name,
                   const char* suffix, uint64_t* budget);

  std::vector<unwind::SectionData> data_;
  std::vector<DwarfSection> list_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_SECTIONS_H_
