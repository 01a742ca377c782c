// The index of a package of split units (.dwp): a hash table from a unit's id
// to its parts of the sections (DWARF 5 §7.3.5.3; the GNU form of version 2
// came before it, https://gcc.gnu.org/wiki/DebugFissionDWP).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWP_INDEX_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWP_INDEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace unspool::exporters {

// One unit's part of a section.
struct DwpPart {
  const char* section = "";  // ".debug_info"
  uint32_t offset = 0;
  uint32_t size = 0;
};

// A view of .debug_cu_index, whose bytes must outlive it; const after Parse.
class DwpIndex {
 public:
  // False if the index is malformed or of another version; then it has no
  // units. Not async-signal-safe: allocates.
  [[nodiscard]] bool Parse(std::span<const uint8_t> bytes);

  // The parts of the unit with this id, in sections that names need; nullopt if
  // it is not in the package. Parts may lie outside of their sections.
  // Not async-signal-safe: allocates.
  std::optional<std::vector<DwpPart>> Find(uint64_t id) const;

 private:
  uint32_t Word(uint64_t offset) const;

  std::span<const uint8_t> bytes_;
  uint64_t slots_ = 0;  // a power of two
  uint64_t units_ = 0;  // rows
  uint64_t columns_ = 0;
  std::vector<const char*> sections_;  // by column; "" if not needed
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWP_INDEX_H_
