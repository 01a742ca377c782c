// Functions, inlined chains and lines of a module from its DWARF, through
// libdw.
//
// libdw's own address lookups need .debug_aranges, which clang does not write;
// so the units are indexed here by the ranges that their own DIEs state, and
// each unit that is asked for is walked once into a table of its functions and
// inlined calls (DWARF 5 §3.3.8).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_

#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporters/symbolizer/debug_files.h"
#include "exporters/symbolizer/dwarf_handle.h"
#include "exporters/symbolizer/dwarf_unit.h"
#include "exporters/symbolizer/interval_map.h"

namespace unspool::exporters {

// One function at an address; views point into the DwarfNames that gave it.
struct DwarfFrame {
  std::string_view linkage_name;  // "" if there is none, as in C
  std::string name;               // "" if only the line is known
  std::string_view file;
  int64_t line = 0;        // 0: unknown
  int64_t start_line = 0;  // where the function is declared
};

// Thread rule: one thread at a time (libdw fills caches).
class DwarfNames {
 public:
  // Opens the DWARF of a module, whose files and symbols must outlive this
  // object; code outside `code` is ignored. Returns null if there is no DWARF
  // that can be read. Not async-signal-safe: allocates.
  static std::unique_ptr<DwarfNames> Open(const DebugFiles& files,
                                          const CodeRange& code,
                                          const SymbolTable& symbols);
  DwarfNames(const DwarfNames&) = delete;
  DwarfNames& operator=(const DwarfNames&) = delete;

  // The frames at `address` (an ELF virtual address), innermost first; the
  // last one is the function that the code belongs to. Empty if no unit covers
  // the address; one frame without names if only its line is known.
  // Not async-signal-safe: allocates.
  std::vector<DwarfFrame> Find(uint64_t address);

  // Whether something that was read so far makes no sense; the rest is used.
  bool is_damaged() const { return is_damaged_; }

  // Whether so much was read that another object, as new, saves more memory
  // than its opening costs time: libdw keeps what it has read.
  bool is_large() const {
    return read_bytes_ > std::max(kLargeBytes, size_bytes_ / 16);
  }

  // The number of the unit that covers the address, if there is one.
  std::optional<uint32_t> UnitAt(uint64_t address) const;

 private:
  DwarfNames(const DebugFiles& files, const CodeRange& code,
             const SymbolTable& symbols);

  void IndexUnits();
  uint64_t SizeOf(uint32_t unit) const;
  void Walk(DwarfUnit* unit);
  void SetNames(DwarfUnit& unit, Dwarf_Die* die, DwarfFrame* frame);
  std::string QualifiedName(Dwarf_Die* die);
  DwarfUnit* UnitOf(Dwarf_Die* die);

  const DwarfHandle alt_;  // what dwarf_ refers to
  const DwarfHandle dwarf_;
  const SplitDwarf& split_;
  const SymbolTable& symbols_;
  const CodeRange code_;
  static constexpr uint64_t kLargeBytes = 8 << 20;

  bool is_damaged_ = false;
  uint64_t size_bytes_ = 0;        // of .debug_info
  uint64_t read_bytes_ = 0;        // of it: units that were walked
  std::vector<DwarfUnit> units_;   // in the order of the file
  std::vector<uint64_t> offsets_;  // of their DIEs
  std::deque<DwarfUnit> others_;   // of the file that dwarf_ refers to
  // By libdw's unit: the index of what lies in it, split halves included.
  absl::flat_hash_map<const Dwarf_CU*, DwarfUnit*> unit_of_;
  IntervalMap<uint32_t> unit_at_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_
