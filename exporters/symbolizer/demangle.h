// Names as people write them, of C++, Rust and D.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_

#include <cstddef>
#include <string>

namespace unspool::exporters {

// Longer symbols stay mangled, and so do those whose name would be longer:
// memory, stack and time are bounded by these, whatever the symbol.
inline constexpr size_t kMaxMangledSize = 8192;
inline constexpr size_t kMaxDemangledSize = 65536;

inline constexpr size_t kDemangleStackBytes = 1 << 20;

// The full name, with parameters and template arguments, of a symbol of the
// Itanium C++ ABI ("_Z…"), of Rust (v0, "_R…"; legacy, "_ZN…17h…E", without the
// hash) or of D ("_D…"); any other symbol as it is, and so are those that are
// malformed. Suffixes of clones (".constprop.0", ".llvm.1") stay, in brackets.
// Takes some milliseconds at most, and less than kDemangleStackBytes of stack.
// Thread-safe. Not async-signal-safe: allocates.
std::string Demangle(const std::string& symbol);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEMANGLE_H_
