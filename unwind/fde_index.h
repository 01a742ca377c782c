// An index of a section's FDEs, for modules whose .eh_frame_hdr is missing or
// has no table that can be searched.

#ifndef UNSPOOL_UNWIND_FDE_INDEX_H_
#define UNSPOOL_UNWIND_FDE_INDEX_H_

#include <span>

#include "unwind/cfi_lookup.h"

namespace unspool::unwind {

// All FDEs of `section` that are well-formed and not empty, sorted by their
// start; as far as the section can be read. Not those that a linker has left in
// .debug_frame of functions that it discarded, which begin at 0. Empty if there
// are none, or no memory. `bytes` are those at the section's address. Not
// async-signal-safe: allocates by mmap.
std::span<const FdeIndexEntry> BuildFdeIndex(std::span<const uint8_t> bytes,
                                             const CfiSection& section);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_FDE_INDEX_H_
