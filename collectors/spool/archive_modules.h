// The modules of images that were condensed: each once, whichever processes had
// it.

#ifndef UNSPOOL_COLLECTORS_SPOOL_ARCHIVE_MODULES_H_
#define UNSPOOL_COLLECTORS_SPOOL_ARCHIVE_MODULES_H_

#include <cstddef>
#include <cstdint>

#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/id_index.h"
#include "collectors/spool/mapped_array.h"
#include "collectors/spool/module_log.h"
#include "collectors/spool/spool_reader.h"
#include "unwind/frame.h"

namespace unspool::collectors {

// Not async-signal-safe: allocates.
class ArchiveModules {
 public:
  ArchiveModules() = default;
  ArchiveModules(const ArchiveModules&) = delete;
  ArchiveModules& operator=(const ArchiveModules&) = delete;
  ~ArchiveModules();

  // Adds those of an image that are new. BitsOf() is about this image from now
  // on. False: no room or no memory.
  [[nodiscard]] bool Link(ChunkAllocator& chunks, const SpoolReader& reader,
                          size_t image);

  // module_and_flags of one of its nodes, as an ArchivedFrame has it.
  uint32_t BitsOf(const NodeView& node) const;

 private:
  // Of the image to what is here.
  struct Linked {
    unwind::ModuleId from;
    unwind::ModuleId to;
  };
  struct KnownModule {
    size_t key;  // in keys_
    size_t key_size;
  };

  bool FindOrAdd(ChunkAllocator& chunks, const ModuleView& module,
                 unwind::ModuleId* id);
  uint32_t Add(ChunkAllocator& chunks, const ModuleView& module);
  bool MakeKey(const ModuleView& module);

  ModuleLog log_;
  MappedArray<KnownModule> known_;  // by id
  IdIndex index_;                   // id + 1
  MappedArray<uint8_t> keys_;
  MappedArray<Linked> links_;  // by `from`
  MappedArray<uint8_t> key_;   // scratch
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_ARCHIVE_MODULES_H_
