// The stack tree of one image: nodes in the spool, found through an index that
// lives in private memory.
//
// The index is leveled open addressing: level 0 is small, each further one
// eight times as large, begun when the last one could not take a key. A key has
// a few windows of eight slots on each level, and is in a later one only if
// those before it are full. Look-up begins on the last level, where most keys
// are and all new ones go, and ends on that which was the last one when the
// key's parent was new: most keys that are new themselves touch one line.
//
// Invariant 1: a slot goes from empty to full once. So a key that is present is
//   found before any empty slot of its level.
// Invariant 2: a node is complete before its slot is stored (release); who
//   loads the slot (acquire) may read the node.
// Invariant 3: a node's id is drawn after its parent's was seen, so it is
//   larger.
// Invariant 4: StackNode::parent is stored (release) after the rest of the
//   node.
// Invariant 5: first_ids_[i] is set before level i is the last one. Threads
//   that do not know that yet may add a key that others then add again; two
//   nodes of one stack are counted apart and shown as one.

#ifndef UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_
#define UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/lazy_table.h"
#include "collectors/spool/spool_format.h"
#include "unwind/frame.h"

namespace unspool::collectors {

// A frame of a stack, and the node of it and all frames outside of it.
struct PathNode {
  uint64_t offset = 0;
  uint32_t module_and_flags = 0;
  NodeId id = 0;      // 0: there was no room
  uint64_t hash = 0;  // of the frames from the root to this one
};

// The nodes of a stack that was recorded, outermost first.
struct StackPath {
  std::span<PathNode> nodes;  // room for the largest
  size_t count = 0;
  unwind::WalkEnd end = unwind::WalkEnd::kRoot;
};

class StackTree {
 public:
  constexpr StackTree() = default;
  StackTree(const StackTree&) = delete;
  StackTree& operator=(const StackTree&) = delete;

  // Maps what FindOrAdd would map later. Async-signal-safe.
  void MapAll();
  // As ChunkAllocator::Reset.
  void Reset(bool unmap);

  // What stands for the end of a walk, as the parent of outermost frames.
  static PathNode Root(unwind::WalkEnd end) {
    return {.id = RootNode(end), .hash = RootNode(end)};
  }

  // Fills in id and hash of `path`, frames that follow `parent` inward; those
  // that are new are added. Ids are 0 from where there is no room, or no memory
  // for the index. Lock-free but for the calls that populate a new chunk and
  // map a new level. Async-signal-safe; any number of threads.
  void FindOrAdd(ChunkAllocator& chunks, PathNode parent,
                 std::span<PathNode> path);

 private:
  static constexpr size_t kMaxLevels = 5;
  static constexpr uint32_t kWindowSlots = 8;  // half a cache line
  static constexpr unsigned kWindows = 3;      // of a key on each level
  // Twice as many slots as nodes on the last: its windows seldom fill.
  static constexpr uint64_t LevelSlots(size_t level) {
    const uint64_t slots = uint64_t{1} << (16 + 3 * level);
    return slots < 2 * uint64_t{kMaxNodes} ? slots : 2 * uint64_t{kMaxNodes};
  }
  static constexpr uint64_t kMaxChunks = kMaxNodes / NodesPerChunk(1) + 2;

  // Each looks at other bits of the hash, so that keys that share a window
  // part.
  static uint64_t WindowOf(uint64_t hash, size_t level, unsigned window) {
    const uint64_t mask = LevelSlots(level) / kWindowSlots - 1;
    const auto bits = static_cast<int>(level * 7 + window * 13);
    return (std::rotr(hash, bits) & mask) * kWindowSlots;
  }

  // Where a look-up ended: at the node, or where it may be added.
  struct Place {
    uint32_t id = 0;
    uint32_t* free = nullptr;
  };

  void Prefetch(const ChunkAllocator& chunks,
                std::span<const PathNode> path) const;
  uint32_t FindOrAdd(ChunkAllocator& chunks, uint64_t hash,
                     const StackNode& key);
  Place Find(const ChunkAllocator& chunks, uint64_t hash, const StackNode& key);
  Place FindOnLevel(const ChunkAllocator& chunks, size_t level, uint64_t hash,
                    const StackNode& key);
  bool BeginLevel(size_t level);
  // As LazyTable::FindOrMap.
  uint32_t* Level(size_t level);
  uint32_t Add(ChunkAllocator& chunks, const StackNode& node);
  bool EnsureChunk(ChunkAllocator& chunks, uint32_t number);
  uint8_t* NewChunk(ChunkAllocator& chunks, uint32_t number);
  StackNode* NodeAt(const ChunkAllocator& chunks, uint32_t id) const;

  std::atomic<uint32_t> next_node_ = kFirstNode;
  LazyTable<uint32_t> levels_[kMaxLevels];
  std::atomic<uint32_t> last_level_ = 0;
  // Ids from there on were drawn when the level was needed; 0: it was not yet.
  std::atomic<uint32_t> first_ids_[kMaxLevels] = {};
  LazyTable<uint32_t>
      chunk_pages_;  // chunk number → page in the spool; 0: none
  // A full-size chunk that lost the race for its number; the next one takes it.
  std::atomic<uint32_t> spare_page_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_STACK_TREE_H_
