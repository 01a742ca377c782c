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
#include "collectors/spool/lazy_table.h"
#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::collectors {

// Where an image's modules are looked up by those who record their frames.
// Writes the present directory and a NUL, and gives their size; 0 or less: it
// is not known, or there is no room. Called in the handler.
using DirectoryFunction = long (*)(char* out, size_t room);

struct ModuleSource {
  // nullptr: nothing is known of that id. Called in the handler.
  const unwind::Module* (*find)(void* context, unwind::ModuleId id) = nullptr;
  void* context = nullptr;
  // For relative paths; nullptr: they stay as they are.
  DirectoryFunction directory = nullptr;
};

class ModuleLog {
 public:
  constexpr ModuleLog() = default;
  ModuleLog(const ModuleLog&) = delete;
  ModuleLog& operator=(const ModuleLog&) = delete;

  // Maps what Add would map later. Async-signal-safe.
  void MapAll() { biases_.FindOrMap(kMaxModules); }
  // As ChunkAllocator::Reset.
  void Reset(bool unmap);

  // Records `module` unless `id` was recorded before. False: no room, no memory
  // for the table of biases, or an id of kMaxModules or more.
  // Async-signal-safe; any number of threads.
  bool Add(ChunkAllocator& chunks, unwind::ModuleId id,
           const unwind::Module& module, DirectoryFunction directory);

  // True, and the bias, if `id` was recorded. Async-signal-safe.
  bool FindBias(unwind::ModuleId id, uint64_t* bias) const;

 private:
  uint8_t* Reserve(ChunkAllocator& chunks, uint32_t size);

  LazyTable<uint64_t> biases_;      // bias × 2 + 1; 0: not recorded
  std::atomic<uint64_t> tail_ = 0;  // page of the chunk << 32 | bytes used
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_MODULE_LOG_H_
