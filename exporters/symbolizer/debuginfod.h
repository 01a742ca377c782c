// Debug files from servers (debuginfod(8)), for those who ask for them by
// setting DEBUGINFOD_URLS.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_

#include <string>

#include "absl/status/statusor.h"

namespace unspool::exporters {

// The path, in debuginfod's cache, of the debug file with this build id (hex),
// downloaded if it is not there yet; DEBUGINFOD_TIMEOUT and the like hold
// (debuginfod-find(1)). Its contents are what a server says: to be checked.
// NotFound: DEBUGINFOD_URLS is not set, or no server has the file; nothing was
// asked in the first case. Other errors say what keeps the servers from being
// asked.
// Thread-safe. Not async-signal-safe: allocates, uses the network.
absl::StatusOr<std::string> FindByDebuginfod(const std::string& build_id);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_
