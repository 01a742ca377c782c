// A symbol that a loaded object exports, by its hash table: gABI, and GNU's
// DT_GNU_HASH (binutils, "GNU Hash ELF Sections"), which all that Debian links
// has. Without dlsym(3): that knows scopes, and not single objects.

#ifndef UNSPOOL_UNWIND_DYNAMIC_SYMBOL_H_
#define UNSPOOL_UNWIND_DYNAMIC_SYMBOL_H_

#include <link.h>

#include <cstdint>

namespace unspool::unwind {

// The run-time address of the symbol `name` of `type` (STT_OBJECT, STT_FUNC)
// that the object of `info` defines; 0 if there is none, or no DT_GNU_HASH. The
// object must stay mapped during the call. Not async-signal-safe: plain loads
// from it.
uint64_t FindDynamicSymbol(const dl_phdr_info& info, const char* name,
                           unsigned type);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_DYNAMIC_SYMBOL_H_
