// A table of zeros that takes no address space before it is needed, and no
// memory but for the pages that are touched. Not inherited by fork: the child's
// Reset(false) makes it as new.

#ifndef UNSPOOL_COLLECTORS_SPOOL_LAZY_TABLE_H_
#define UNSPOOL_COLLECTORS_SPOOL_LAZY_TABLE_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/mapped_memory.h"

namespace unspool::collectors {

enum class Populate : uint8_t {
  kTouched,  // pages come one by one, as they are touched
  kAll,      // all at once: of a table that is soon touched everywhere
};

// Invariant 1: data_ goes once from null to a mapping (release, after the
//   kernel zeroed it), or to kRefused; until Reset().
template <typename T>
class LazyTable {
 public:
  constexpr LazyTable() = default;
  LazyTable(const LazyTable&) = delete;
  LazyTable& operator=(const LazyTable&) = delete;

  // nullptr: not mapped. Async-signal-safe.
  T* Find() const {
    T* data = data_.load(std::memory_order_acquire);
    return data == Refused() ? nullptr : data;
  }

  // Maps `count` zeros, the same number at each call, unless they are there.
  // nullptr: no memory, now and from now on (a call per sample would slow the
  // program down). Async-signal-safe (Linux: mmap is a plain system call); any
  // number of threads.
  T* FindOrMap(uint64_t count, Populate populate = Populate::kTouched) {
    T* data = data_.load(std::memory_order_acquire);
    if (data == nullptr) data = Map(count, populate);
    return data == Refused() ? nullptr : data;
  }

  // As new; false to `unmap` only forgets. Nobody else may use the table.
  // Async-signal-safe.
  void Reset(bool unmap, uint64_t count) {
    T* data = Find();
    if (unmap && data != nullptr) munmap(data, count * sizeof(T));
    data_.store(nullptr, std::memory_order_relaxed);
  }

 private:
  static T* Refused() { return reinterpret_cast<T*>(alignof(T)); }

  T* Map(uint64_t count, Populate populate) {
    const size_t size = count * sizeof(T);
    void* memory = unwind::MapZeroed(size);
    T* mapped = memory == nullptr ? Refused() : static_cast<T*>(memory);
    if (mapped != Refused()) {
      madvise(memory, size, MADV_DONTFORK);
      // A huge page would make 2 MiB of a table of which one page is used.
      madvise(memory, size, MADV_NOHUGEPAGE);
      if (populate == Populate::kAll) {
        madvise(memory, size, MADV_POPULATE_WRITE);
      }
    }
    T* seen = nullptr;
    if (data_.compare_exchange_strong(seen, mapped,
                                      std::memory_order_acq_rel)) {
      return mapped;
    }
    if (mapped != Refused()) munmap(memory, size);
    return seen;
  }

  std::atomic<T*> data_{nullptr};
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_LAZY_TABLE_H_
