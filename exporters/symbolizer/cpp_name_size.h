// How much a C++ name will take to print.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_CPP_NAME_SIZE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_CPP_NAME_SIZE_H_

struct demangle_component;  // of libiberty

namespace unspool::exporters {

// A parsed name shares the parts that its substitutions ("S1_") refer to, so
// that n parts may stand for 2^n; libiberty prints, and for pack expansions
// searches, each of them as often as it is referred to. Whether that is a
// bounded number of parts, nested no deeper than libiberty prints, and whether
// the arrays that libiberty puts on the stack for them are small.
// Not async-signal-safe: allocates.
bool IsPrintableSize(const demangle_component* tree);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_CPP_NAME_SIZE_H_
