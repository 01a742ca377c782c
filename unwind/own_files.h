// What only files tell about the process's own modules. Setup only.

#ifndef UNSPOOL_UNWIND_OWN_FILES_H_
#define UNSPOOL_UNWIND_OWN_FILES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/cfi_entry.h"
#include "unwind/module.h"

namespace unspool::unwind {

inline constexpr size_t kMaxPathSize = 4096;
using PathBuffer = char[kMaxPathSize];

// The path that is mapped at `address`, by /proc/self/maps; of a file that was
// deleted, the one that it had. False if there is none.
// Not async-signal-safe: reads a file.
bool FindMappedPath(uint64_t address, PathBuffer& path);

// The run-time place of .eh_frame by the section headers of the module's file:
// for files linked without .eh_frame_hdr. False if it cannot be found; whether
// it is mapped is for the caller to check. Not async-signal-safe: maps a file.
bool FindEhFrameInFile(const Module& module, CfiSection* section);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_OWN_FILES_H_
