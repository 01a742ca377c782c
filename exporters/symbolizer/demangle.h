// C++ names as people write them.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_

#include <cstddef>
#include <string>

namespace unspool::exporters {

// Longer names stay mangled: libstdc++'s demangler refuses them, so that it
// cannot run out of stack.
inline constexpr size_t kMaxMangledSize = 1024;

// The full name, with parameters and template arguments, of a symbol of the
// Itanium C++ ABI (it begins with "_Z"); any other name as it is. Suffixes of
// clones (".constprop.0") stay, in brackets.
// Thread-safe. Not async-signal-safe: allocates.
std::string Demangle(const std::string& symbol);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_
