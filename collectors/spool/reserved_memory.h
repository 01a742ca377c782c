// Address space for tables that are mostly never touched: it costs nothing
// until a page of it is stored to. Not inherited by fork.

#ifndef UNSPOOL_COLLECTORS_SPOOL_RESERVED_MEMORY_H_
#define UNSPOOL_COLLECTORS_SPOOL_RESERVED_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace unspool::collectors {

// `count` zeros; nullptr: no memory. Not async-signal-safe: allocates by mmap.
template <typename T>
T* ReserveArray(uint64_t count) {
  const size_t size = count * sizeof(T);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, size, MADV_DONTFORK);
  // A huge page here would make 2 MiB of a table of which one page is used.
  madvise(memory, size, MADV_NOHUGEPAGE);
  return static_cast<T*>(memory);
}

// Gives an array of ReserveArray() back; nullptr is allowed.
template <typename T>
void ReleaseArray(T* array, uint64_t count) {
  if (array != nullptr) munmap(array, count * sizeof(T));
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_RESERVED_MEMORY_H_
