// The stack tree of one image: nodes in the spool, found through an index that
// lives in private memory.
//
// The index is leveled open addressing: level 0 is small, each further one
// eight times as large, all reserved at Map() and untouched until used. A key
// has one window of eight slots per level. Look-up scans its windows in level
// order up to the first empty slot; an addition takes that slot by
// compare-and-swap.
//
// Invariant 1: a slot goes from empty to full once. So a key that is present is
//   found before any empty slot, and no key is present twice.
// Invariant 2: a node is complete before its slot is stored (release); who
// loads
//   the slot (acquire) may read the node.
// Invariant 3: a node's id is drawn after its parent's was seen, so it is
// larger. Invariant 4: StackNode::parent is stored (release) after the rest of
// the node.

#ifndef UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_
#define UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/spool_format.h"

namespace unspool::collectors {

class StackTree {
 public:
  constexpr StackTree() = default;
  StackTree(const StackTree&) = delete;
  StackTree& operator=(const StackTree&) = delete;

  // Reserves index and chunk table for as many nodes as `capacity_pages` can
  // hold; fewer levels where the address space is limited. False: no memory.
  // Not async-signal-safe: allocates by mmap.
  [[nodiscard]] bool Map(uint64_t capacity_pages);
  // As ChunkAllocator::Reset.
  void Reset(bool unmap);

  // The id of the node {parent, module_and_flags, offset}, added if new; 0: no
  // room. Wait-free but for the call that populates a new chunk.
  // Async-signal-safe; any number of threads.
  uint32_t FindOrAdd(ChunkAllocator& chunks, uint32_t parent,
                     uint32_t module_and_flags, uint64_t offset);

 private:
  struct Level {
    uint32_t* slots = nullptr;
    uint64_t window_mask = 0;  // windows − 1
  };
  static constexpr size_t kMaxLevels = 5;
  static constexpr uint32_t kWindowSlots = 8;  // half a cache line
  static constexpr uint64_t kFirstLevelSlots = 1 << 16;

  uint32_t Add(ChunkAllocator& chunks, const StackNode& node);
  bool EnsureChunk(ChunkAllocator& chunks, uint32_t number);
  uint8_t* NewChunk(ChunkAllocator& chunks, uint32_t number);
  StackNode* NodeAt(const ChunkAllocator& chunks, uint32_t id) const;

  std::atomic<uint32_t> next_node_ = kFirstNode;
  Level levels_[kMaxLevels];
  size_t level_count_ = 0;
  uint32_t* chunk_pages_ =
      nullptr;                // chunk number → page in the spool; 0: none
  uint64_t chunk_count_ = 0;  // entries of chunk_pages_
  // A full-size chunk that lost the race for its number; the next one takes it.
  std::atomic<uint32_t> spare_page_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_
