// Anonymous memory straight from the kernel: the profiler takes nothing from
// the program's malloc.

#ifndef UNSPOOL_COLLECTORS_MAPPING_H_
#define UNSPOOL_COLLECTORS_MAPPING_H_

#include <sys/mman.h>

#include <cstddef>

#include "unwind/mapped_memory.h"

namespace unspool::collectors {

// Owns one private mapping. Async-signal-safe (Linux: mmap and munmap are plain
// system calls).
class Mapping {
 public:
  constexpr Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { Reset(); }

  // Replaces what is held by `bytes` of zeroes, page-aligned. False: no memory;
  // then nothing is held. Async-signal-safe.
  [[nodiscard]] bool Allocate(size_t bytes) {
    Reset();
    data_ = unwind::MapZeroed(bytes);
    if (data_ == nullptr) return false;
    size_ = bytes;
    return true;
  }

  // Async-signal-safe.
  void Reset() {
    if (data_ != nullptr) munmap(data_, size_);
    data_ = nullptr;
    size_ = 0;
  }

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_MAPPING_H_
