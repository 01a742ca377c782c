// Finds the separate debug file of a module, as gdb does: by build id, then by
// .gnu_debuglink.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILE_H_

#include <string>
#include <string_view>

#include "unwind/load/elf_file.h"

namespace unspool::exporters {

// Where distributions put debug files.
inline constexpr std::string_view kDebugRoot = "/usr/lib/debug";

// Lower-case hex; "" if there is none.
// Not async-signal-safe: allocates.
std::string BuildIdHex(const unwind::ElfFile& elf);

// The path of the debug file of `elf`, which was read from `path`; "" if there
// is none. Tried are, in this order,
//   ROOT/.build-id/ab/cdef….debug,
//   and the link's name in the module's folder, its .debug, and ROOT/folder,
// and taken is the first that has the module's build id, or, if the module has
// none, the checksum that its link states.
// Not async-signal-safe: allocates, reads files.
std::string FindDebugFile(const unwind::ElfFile& elf, const std::string& path,
                          std::string_view debug_root = kDebugRoot);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUG_FILE_H_
