// The test's own program as a module of a recording: a file that pprof can
// open.

#ifndef UNSPOOL_TESTS_EXPORTERS_RAW_OWN_PROGRAM_H_
#define UNSPOOL_TESTS_EXPORTERS_RAW_OWN_PROGRAM_H_

#include "unwind/module.h"

namespace unspool::exporters {

// Segments, build id and path as loaded; `path` is static.
unwind::Module OwnProgram();

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_RAW_OWN_PROGRAM_H_
