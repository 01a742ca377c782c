// Memory for the life of the process, straight from the kernel: setup code may
// run inside somebody's malloc.

#ifndef UNSPOOL_UNWIND_MAPPED_MEMORY_H_
#define UNSPOOL_UNWIND_MAPPED_MEMORY_H_

#include <cstddef>
#include <span>

namespace unspool::unwind {

// Zeroed pages, not touched yet; nullptr if there are none to be had. Never
// unmapped. Not async-signal-safe: maps memory.
void* MapZeroed(size_t size);

template <class T>
std::span<T> MapArray(size_t count) {
  void* memory = MapZeroed(count * sizeof(T));
  if (memory == nullptr) return {};
  return {static_cast<T*>(memory), count};
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MAPPED_MEMORY_H_
