// The modules that one image has recorded, and their load biases.
//
// Invariant 1: biases_[id] is set (compare-and-swap) by who writes the record;
//   from then on frames of the module are recorded relative to it.
// Invariant 2: records are appended to the current kModules chunk by a
//   compare-and-swap of tail_; ModuleRecord::magic is stored last (release).

#ifndef UNSPOOL_COLLECTORS_SPOOL_MODULE_LOG_H_
#define UNSPOOL_COLLECTORS_SPOOL_MODULE_LOG_H_

#include <atomic>
#include <cstdint>

#include "collectors/spool/chunk_allocator.h"
#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::collectors {

class ModuleLog {
 public:
  constexpr ModuleLog() = default;
  ModuleLog(const ModuleLog&) = delete;
  ModuleLog& operator=(const ModuleLog&) = delete;

  // Reserves the bias table. Not async-signal-safe: allocates by mmap.
  [[nodiscard]] bool Map();
  // As ChunkAllocator::Reset.
  void Reset(bool unmap);

  // Records `module` unless `id` was recorded before. False: no room, or an id
  // of kMaxModules or more. Async-signal-safe; any number of threads.
  bool Add(ChunkAllocator& chunks, unwind::ModuleId id,
           const unwind::Module& module);

  // True, and the bias, if `id` was recorded. Async-signal-safe.
  bool FindBias(unwind::ModuleId id, uint64_t* bias) const;

 private:
  uint8_t* Reserve(ChunkAllocator& chunks, uint32_t size);

  uint64_t* biases_ = nullptr;      // bias × 2 + 1; 0: not recorded
  std::atomic<uint64_t> tail_ = 0;  // page of the chunk << 32 | bytes used
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_MODULE_LOG_H_
