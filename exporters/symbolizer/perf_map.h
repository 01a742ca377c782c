// The simplest thing that JIT compilers write for profilers: perf's
// /tmp/perf-PID.map, a line "START SIZE NAME" for each function, numbers in
// hexadecimal (Linux, tools/perf/Documentation/jit-interface.txt).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_PERF_MAP_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_PERF_MAP_H_

#include "absl/status/status.h"
#include "exporters/symbolizer/jit_addresses.h"
#include "exporters/symbolizer/jit_file.h"

namespace unspool::exporters {

// Names what the file names. Where several functions were at an address one
// after another, the last has it. Lines that are none are skipped; so is the
// last one if it is not ended: its writer was.
// Of a file above 256 MiB, that much of its end is read: ResourceExhausted.
// InvalidArgument: it is no text; names that were found stay.
// Not async-signal-safe: allocates, reads the file.
absl::Status ReadPerfMap(JitFile& file, JitAddresses* addresses);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_PERF_MAP_H_
