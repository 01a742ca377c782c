// Is this still the process that was marked, or a child that fork() made, of
// which nobody may have told us? Without a system call where the kernel wipes a
// page in the child.

#ifndef UNSPOOL_COLLECTORS_PROCESS_MARK_H_
#define UNSPOOL_COLLECTORS_PROCESS_MARK_H_

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "collectors/optional_calls.h"
#include "unwind/mapped_memory.h"
#include "unwind/self_memory.h"

namespace unspool::collectors {

class ProcessMark {
 public:
  constexpr ProcessMark() = default;

  // Marks the calling process. One thread at a time.
  void Set() {
    pid_ = getpid();
    if (page_ == nullptr) page_ = MapWipedOnFork();
    if (page_ != nullptr) page_->store(1, std::memory_order_relaxed);
  }

  pid_t pid() const { return pid_; }

  // Whether the calling process is the marked one. A child that shares its
  // parent's memory, as vfork() makes it, has another pid. Async-signal-safe.
  bool IsHere() const { return getpid() == pid_; }

  // As IsHere(), but a child that shares the memory counts as its parent, and a
  // system call is only made before Linux 4.14. Async-signal-safe.
  bool IsMemoryHere() const {
    if (page_ == nullptr) return IsHere();
    return page_->load(std::memory_order_relaxed) != 0;
  }

 private:
  using Page = std::atomic<uint32_t>;

  // MADV_WIPEONFORK (madvise(2)); nullptr without.
  static Page* MapWipedOnFork() {
    if (!IsAllowed(OptionalCall::kPopulate)) return nullptr;
    void* memory = unwind::MapZeroed(unwind::kPageSize);
    if (memory == nullptr) return nullptr;
    if (madvise(memory, unwind::kPageSize, MADV_WIPEONFORK) == 0) {
      return static_cast<Page*>(memory);
    }
    munmap(memory, unwind::kPageSize);
    return nullptr;
  }

  pid_t pid_ = 0;
  Page* page_ = nullptr;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_PROCESS_MARK_H_
