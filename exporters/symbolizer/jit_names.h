// Names of code that a JIT compiler made in a recorded process: finds what the
// compiler wrote for profilers, and reads it.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_

#include <string>
#include <vector>

#include "exporters/symbolizer/jit_addresses.h"
#include "exporters/symbolizer/jit_file.h"

namespace unspool::exporters {

// Names what jit-PID.dump names, then what perf-PID.map names, of:
//   /tmp, as the process sees it while it lives, and as we do;
//   the folder where the process is, and where we are: V8's jitdump;
//   .debug/jit/*/ in $JITDUMPDIR, else in $HOME: that of LLVM and of Java's
//   agent of perf.
// Returns why files that are there are not used, one line each: "PATH: why".
// Not async-signal-safe: allocates, reads files.
std::vector<std::string> FindJitNames(const JitProcess& process,
                                      JitAddresses* addresses);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_
