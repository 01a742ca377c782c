// A libdw handle on DWARF sections wherever they lie: in a mapped file,
// decompressed in memory, or a part of a package of split units. libdw itself
// opens whole files only, reads no zstd and no .dwp (elfutils 0.188).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_HANDLE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_HANDLE_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace unspool::exporters {

struct DwarfSection {
  const char* name = "";  // ".debug_info", never with ".dwo"; outlives handles
  std::span<const uint8_t> bytes;
};

// Thread rule: one thread at a time (libdw fills caches); any number of handles
// may share the sections.
class DwarfHandle {
 public:
  DwarfHandle() = default;
  // The bytes must outlive the handle and all that libdw returns from it. On
  // failure (no memory, nothing that libdw takes for DWARF) get() is null.
  // Not async-signal-safe: allocates.
  explicit DwarfHandle(std::span<const DwarfSection> sections);

  Dwarf* get() const { return dwarf_.get(); }

 private:
  struct ElfEnd {
    void operator()(Elf* elf) const;
  };
  struct DwarfEnd {
    void operator()(Dwarf* dwarf) const;
  };

  // In this order: each refers to those above it.
  std::unique_ptr<std::string> names_;
  std::unique_ptr<Elf, ElfEnd> elf_;
  std::unique_ptr<Dwarf, DwarfEnd> dwarf_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_HANDLE_H_
