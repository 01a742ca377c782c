// Code without a file: what a JIT compiler made in the recorded process.

#ifndef UNSPOOL_EXPORTERS_JIT_CODE_H_
#define UNSPOOL_EXPORTERS_JIT_CODE_H_

#include <string>
#include <vector>

#include "exporters/name_table.h"
#include "exporters/profile.h"
#include "exporters/symbolizer/jit_file.h"
#include "exporters/symbolizer/recorded_files.h"

namespace unspool::exporters {

// Whether a mapping of this name is no file: "", "[heap]", "//anon". Of such,
// "[vdso]" alone has symbols of its own.
bool IsPseudoFile(std::string_view path);

// Names the locations that have no function and lie in no file by what the JIT
// compilers of their processes wrote (jit_names.h), process by process: by the
// label "pid" of their samples. What has a name then is in a mapping "[jit]"; a
// location that several processes have becomes one for each.
// `functions` knows the profile's functions; `files` what was seen of the
// processes, null: nothing. `tick` is called now and then; if it throws, what
// has a name by then keeps it. Returns why files that are there are not used,
// and whose cannot be told, one line each.
// Not async-signal-safe: allocates, reads files.
std::vector<std::string> NameJitCode(Profile& profile, FunctionTable* functions,
                                     const RecordedFiles* files,
                                     const Tick& tick);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_JIT_CODE_H_
