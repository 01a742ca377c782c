// Reserving the index and the chunk table, once, at start.

#include <algorithm>
#include <bit>

#include "collectors/spool/reserved_memory.h"
#include "collectors/spool/stack_tree.h"

namespace unspool::collectors {

bool StackTree::Map(uint64_t capacity_pages) {
  // A spool of nodes alone, the small first chunk included.
  const uint64_t chunks = capacity_pages / kNodeChunkPages + 2;
  const uint64_t most = std::min<uint64_t>(
      kMaxNodes, NodesPerChunk(0) + chunks * NodesPerChunk(1));
  chunk_pages_ = ReserveArray<uint32_t>(chunks);
  if (chunk_pages_ == nullptr) return false;
  chunk_count_ = chunks;
  // Twice as many slots as nodes: the last windows seldom fill.
  const uint64_t wanted = 2 * most;
  uint64_t total = 0;
  for (uint64_t slots = kFirstLevelSlots;
       level_count_ < kMaxLevels && total < wanted; slots *= 8) {
    slots = std::min(slots, std::bit_ceil(wanted - total));
    uint32_t* level = ReserveArray<uint32_t>(slots);
    if (level == nullptr) break;
    levels_[level_count_++] = {level, slots / kWindowSlots - 1};
    total += slots;
  }
  return level_count_ > 0;
}

void StackTree::Reset(bool unmap) {
  if (unmap) {
    for (const Level& level : levels_) {
      ReleaseArray(level.slots, (level.window_mask + 1) * kWindowSlots);
    }
    ReleaseArray(chunk_pages_, chunk_count_);
  }
  next_node_.store(kFirstNode, std::memory_order_relaxed);
  for (Level& level : levels_) level = {};
  level_count_ = 0;
  chunk_pages_ = nullptr;
  chunk_count_ = 0;
  spare_page_.store(0, std::memory_order_relaxed);
}

}  // namespace unspool::collectors
