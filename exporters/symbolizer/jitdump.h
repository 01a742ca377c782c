// What JIT compilers write for profilers that want lines, too: jitdump, a file
// of records of code that was loaded or moved, with its source lines (Linux,
// tools/perf/Documentation/jitdump-specification.txt, version 1).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_JITDUMP_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_JITDUMP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "exporters/symbolizer/jit_addresses.h"
#include "exporters/symbolizer/jit_file.h"

namespace unspool::exporters {

// Names what the file names. Where several functions were at an address one
// after another, the last has it: samples do not know their time. Lines of a
// function whose table makes no sense are left out (V8 of node 20 writes no
// file names for scripts that it keeps outside of its heap).
// InvalidArgument: not a jitdump of an x86-64 process `pid`, or damaged; what
// comes before the damage is used. ResourceExhausted: more than a million
// functions; the first ones are used.
// Not async-signal-safe: allocates, reads the file.
absl::Status ReadJitdump(JitFile& file, int64_t pid, JitAddresses* addresses);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_JITDUMP_H_
