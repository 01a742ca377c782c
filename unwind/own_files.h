// What /proc tells about the process's own modules. Setup only.

#ifndef UNSPOOL_UNWIND_OWN_FILES_H_
#define UNSPOOL_UNWIND_OWN_FILES_H_

#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

inline constexpr size_t kMaxPathSize = 4096;
using PathBuffer = char[kMaxPathSize];

// The path that is mapped at `address`, by /proc/self/maps; of a file that was
// deleted, the one that it had. False if there is none.
// Not async-signal-safe: reads a file.
bool FindMappedPath(uint64_t address, PathBuffer& path);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_OWN_FILES_H_
