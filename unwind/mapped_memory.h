// Memory of our own, straight from the kernel: who asks may run inside
// somebody's malloc.
//
// It lies together, far below what the program has mapped. Among the program's
// mappings it would separate the libraries, stacks and heaps that the program
// maps later from those before, and each would cost the program page tables and
// misses in them: 4 % of a program that does nothing but dlopen()
// (bench/harm.py).

#ifndef UNSPOOL_UNWIND_MAPPED_MEMORY_H_
#define UNSPOOL_UNWIND_MAPPED_MEMORY_H_

#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/self_memory.h"

namespace unspool::unwind {

// Bytes that NextOwnAddress() has given out.
inline constinit std::atomic<uint64_t> own_addresses_given{0};

// Where a mapping of `size` bytes should go: the next addresses down from 64
// GiB below the vDSO, beside which the kernel starts to place mappings. A hint
// for mmap(2), which goes elsewhere if something is there; nullptr (anywhere)
// if the process has no vDSO. Lock-free, async-signal-safe.
inline void* NextOwnAddress(size_t size) {
  constexpr uint64_t kDistance = uint64_t{64} << 30;
  constexpr uint64_t kExtent = uint64_t{64} << 30;  // then from the top again
  size = (size + kPageSize - 1) & ~(kPageSize - 1);
  const uint64_t vdso = getauxval(AT_SYSINFO_EHDR) & ~(kPageSize - 1);
  const uint64_t given =
      own_addresses_given.fetch_add(size, std::memory_order_relaxed) % kExtent;
  const uint64_t below = kDistance + given + size;
  return reinterpret_cast<void*>(below < vdso ? vdso - below : 0);
}

// Zeroed pages, not touched yet; nullptr if there are none to be had.
// Async-signal-safe (Linux: mmap is a plain system call).
inline void* MapZeroed(size_t size) {
  void* memory = mmap(NextOwnAddress(size), size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// As MapZeroed(), never unmapped; empty if there is no memory.
template <class T>
std::span<T> MapArray(size_t count) {
  void* memory = MapZeroed(count * sizeof(T));
  if (memory == nullptr) return {};
  return {static_cast<T*>(memory), count};
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MAPPED_MEMORY_H_
