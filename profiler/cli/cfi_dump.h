// A section's call-frame information as text, in the words and columns of
// `readelf --debug-dump=frames-interp` (rows: CfiMachine's, those that the
// unwinder goes by) and `--debug-dump=frames` (instructions), binutils 2.40.

#ifndef UNSPOOL_PROFILER_CLI_CFI_DUMP_H_
#define UNSPOOL_PROFILER_CLI_CFI_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>

#include "profiler/cli/cfi_sections.h"

namespace unspool::profiler {

struct CfiDumpRequest {
  bool is_raw = false;  // instructions, not rows
  // Only FDEs that cover this PC: of rows the one that holds there, of
  // instructions the CIE's, too.
  std::optional<uint64_t> pc;
};

struct CfiDumpResult {
  size_t fdes = 0;         // printed
  size_t bad_entries = 0;  // not understood; the text says "malformed" there
  // Where in the section the first of them is, or what cannot be read.
  uint64_t first_bad_offset = 0;
  bool is_cut = false;  // nobody knows where the entry after it begins
};

// Writes all of `contents`, whose error is empty; memory does not grow with it.
// What is malformed costs its own entry, or if its length is, the rest.
// Not async-signal-safe: allocates.
CfiDumpResult DumpCfi(const CfiContents& contents,
                      const CfiDumpRequest& request, std::ostream& out);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_CFI_DUMP_H_
