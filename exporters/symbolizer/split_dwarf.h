// Split DWARF (DWARF 5 §7.3; for version 4 the GNU form, -gsplit-dwarf): the
// program has a skeleton of each unit, with its lines and addresses, and a .dwo
// file or a package (.dwp) has the rest.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_SPLIT_DWARF_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_SPLIT_DWARF_H_

#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporters/symbolizer/dwarf_handle.h"
#include "exporters/symbolizer/dwarf_sections.h"
#include "exporters/symbolizer/dwo_file.h"
#include "exporters/symbolizer/range_list.h"

namespace unspool::exporters {

// The other half of a skeleton unit. Thread rule: one thread at a time.
class SplitUnit {
 public:
  // Its unit DIE.
  Dwarf_Die* die() { return &die_; }

  // The ranges [first, second) that a DIE of this unit states, in ELF virtual
  // addresses of the program.
  // Not async-signal-safe: allocates.
  std::vector<std::pair<uint64_t, uint64_t>> RangesOf(Dwarf_Die* die) const;

 private:
  std::optional<uint64_t> ListOf(Dwarf_Attribute* ranges) const;

  friend class SplitDwarf;

  DwoFile file_;  // empty if the unit is in a package
  DwarfHandle handle_;
  Dwarf_Die die_ = {};
  std::span<const uint8_t> info_;
  RangeLists ranges_;
};

// Finds split units of one module. Any number of threads may call Find at once.
class SplitDwarf {
 public:
  SplitDwarf() = default;
  SplitDwarf(const SplitDwarf&) = delete;
  SplitDwarf& operator=(const SplitDwarf&) = delete;

  // Opens the package of the module at `path`, PATH.dwp, if there is one.
  // `dwarf` is the module's DWARF, in the file `dwarf_path`; it must outlive
  // this object and the units.
  // Not async-signal-safe: allocates, reads files.
  void Load(const DwarfSections& dwarf, const std::string& path,
            const std::string& dwarf_path);

  // The other half of the unit with this DIE: from the package, else from its
  // .dwo file, as named, in the folder of its compilation, or beside the
  // module. Null if the unit is not a skeleton or its half is missing, which
  // problems() then tells. This object must outlive it.
  // Not async-signal-safe: allocates, reads files.
  std::unique_ptr<SplitUnit> Find(Dwarf_Die* skeleton) const;

  // Files that were found and are not used, and how many are missing: one line
  // each, "PATH: what". Not async-signal-safe: allocates.
  std::vector<std::string> problems() const;

 private:
  struct Skeleton;

  bool Take(const DwoFile& file, const Skeleton& skeleton,
            SplitUnit* unit) const;
  bool TakeFile(const std::string& path, const Skeleton& skeleton,
                SplitUnit* unit) const;
  void Link(const Skeleton& skeleton,
            std::vector<DwarfSection>* sections) const;
  void AddProblem(const std::string& problem) const;

  const DwarfSections* dwarf_ = nullptr;
  std::string path_;
  std::unique_ptr<DwoFile> package_;  // null: none

  mutable std::mutex mutex_;
  mutable std::vector<std::string> problems_;  // guarded by mutex_, as below
  mutable size_t missing_count_ = 0;
  mutable std::string first_missing_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_SPLIT_DWARF_H_
