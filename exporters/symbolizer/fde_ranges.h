// Where functions begin and end when nothing names them: the FDEs of .eh_frame,
// which stripped files keep because exceptions need them.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_FDE_RANGES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_FDE_RANGES_H_

#include <cstdint>
#include <optional>

#include "exporters/symbolizer/interval_map.h"
#include "unwind/load/elf_file.h"

namespace unspool::exporters {

class FdeRanges {
 public:
  // Reads every FDE of the file; those behind a malformed one are not found.
  // Not async-signal-safe: allocates.
  explicit FdeRanges(const unwind::ElfFile& elf);

  // The first address of the FDE that covers `address` (both ELF virtual
  // addresses), if there is one.
  std::optional<uint64_t> FindStart(uint64_t address) const;

 private:
  IntervalMap<uint64_t> start_at_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_FDE_RANGES_H_
