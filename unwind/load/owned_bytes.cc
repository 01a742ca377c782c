#include "unwind/load/owned_bytes.h"

#include <sys/mman.h>

namespace unspool::unwind {

OwnedBytes::~OwnedBytes() {
  if (size_ > 0) munmap(data_, size_);
}

bool OwnedBytes::Allocate(size_t size) {
  *this = OwnedBytes();
  if (size == 0) return true;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  data_ = static_cast<uint8_t*>(memory);
  size_ = size;
  return true;
}

}  // namespace unspool::unwind
