#include "unwind/mapped_memory.h"

#include <sys/mman.h>

namespace unspool::unwind {

void* MapZeroed(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace unspool::unwind
