// Finding and adding nodes: runs in the handler, for every frame of a stack.

#include "collectors/spool/stack_tree.h"

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

// A slot holds a node id and six bits of its key's hash, so that scanning a
// window seldom looks at another key's node.
constexpr uint32_t kIdMask = kMaxNodes - 1;
constexpr uint32_t TagOf(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32) & ~kIdMask;
}

// By frames alone, not by the parent's id: so it is known where to look for all
// frames of a stack before one was found. A product's high half depends on all
// bits; the fold brings it down to where windows look.
uint64_t HashFrame(uint64_t parent, const PathNode& frame) {
  const uint64_t own = frame.offset * 0xbf58476d1ce4e5b9u ^
                       frame.module_and_flags * 0x94d049bb133111ebu;
  const uint64_t hash = (parent ^ own) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

bool IsSame(const StackNode& a, const StackNode& b) {
  return LoadRelaxed(a.parent) == b.parent &&
         a.module_and_flags == b.module_and_flags && a.offset == b.offset;
}

}  // namespace

void StackTree::MapAll() {
  for (size_t i = 0; i < kMaxLevels; ++i) Level(i);
  chunk_pages_.FindOrMap(kMaxChunks);
}

void StackTree::FindOrAdd(ChunkAllocator& chunks, PathNode parent,
                          std::span<PathNode> path) {
  uint64_t hash = parent.hash;
  for (PathNode& frame : path) {
    hash = HashFrame(hash, frame);
    frame.hash = hash;
  }
  if (path.size() > 1) Prefetch(chunks, path);
  NodeId id = parent.id;
  for (PathNode& frame : path) {
    if (id != 0) {
      id = FindOrAdd(chunks, frame.hash,
                     {id, frame.module_and_flags, frame.offset});
    }
    frame.id = id;
  }
}

// The index and the nodes of a large program are in no cache by the next tick:
// what all frames need is asked for before the first is waited for.
void StackTree::Prefetch(const ChunkAllocator& chunks,
                         std::span<const PathNode> path) const {
  size_t level_count = 0;
  while (level_count < kMaxLevels && levels_[level_count].Find() != nullptr) {
    const uint32_t* level = levels_[level_count].Find();
    for (const PathNode& frame : path) {
      __builtin_prefetch(level + WindowOf(frame.hash, level_count));
    }
    ++level_count;
  }
  // Most nodes are on the last level: of what lies on others, the slot is all
  // that is asked for.
  if (level_count < 2) return;
  const uint32_t* level = levels_[level_count - 1].Find();
  for (const PathNode& frame : path) {
    const uint32_t* slots = level + WindowOf(frame.hash, level_count - 1);
    for (uint32_t j = 0; j < kWindowSlots; ++j) {
      const uint32_t slot = LoadAcquire(slots[j]);  // invariant 2
      if (slot == 0) break;
      if ((slot & ~kIdMask) == TagOf(frame.hash)) {
        __builtin_prefetch(NodeAt(chunks, slot & kIdMask));
        break;
      }
    }
  }
}

uint32_t StackTree::FindOrAdd(ChunkAllocator& chunks, uint64_t hash,
                              const StackNode& key) {
  const uint32_t tag = TagOf(hash);
  uint32_t added = 0;  // ours, not yet in the index
  for (size_t i = 0; i < kMaxLevels; ++i) {
    uint32_t* level = Level(i);
    if (level == nullptr) return 0;
    uint32_t* slots = level + WindowOf(hash, i);
    for (uint32_t j = 0; j < kWindowSlots; ++j) {
      uint32_t slot = LoadAcquire(slots[j]);  // invariant 2
      if (slot == 0) {
        if (added == 0) added = Add(chunks, key);
        if (added == 0) return 0;
        if (CompareExchange(slots[j], &slot, tag | added)) return added;
        // Somebody was faster. If with the same key, that node is the one, and
        // ours stays unused: sixteen bytes, once in a great while.
      }
      const uint32_t id = slot & kIdMask;
      if ((slot & ~kIdMask) == tag && IsSame(*NodeAt(chunks, id), key)) {
        return id;
      }
    }
  }
  return 0;
}

// The first stacks spread over all of level 0: page by page it would cost two
// faults each (a look-up, then an addition), most of a forked child's first
// tick.
uint32_t* StackTree::Level(size_t level) {
  const auto populate = level == 0 ? Populate::kAll : Populate::kTouched;
  return levels_[level].FindOrMap(LevelSlots(level), populate);
}

StackNode* StackTree::NodeAt(const ChunkAllocator& chunks, uint32_t id) const {
  const NodePlace place = PlaceOfNode(id);
  const uint64_t page = LoadAcquire(chunk_pages_.Find()[place.chunk]);
  uint8_t* chunk = chunks.At(page * kSpoolPageSize);
  return reinterpret_cast<StackNode*>(chunk + sizeof(ChunkHeader)) + place.slot;
}

uint32_t StackTree::Add(ChunkAllocator& chunks, const StackNode& node) {
  // Before an id is drawn: a full spool must not use them up.
  const uint32_t next = next_node_.load(std::memory_order_relaxed);
  if (next >= kMaxNodes || !EnsureChunk(chunks, PlaceOfNode(next).chunk)) {
    return 0;
  }
  const uint32_t id = next_node_.fetch_add(1, std::memory_order_relaxed);
  if (id >= kMaxNodes || !EnsureChunk(chunks, PlaceOfNode(id).chunk)) return 0;
  StackNode* place = NodeAt(chunks, id);
  place->module_and_flags = node.module_and_flags;
  place->offset = node.offset;
  StoreRelease(place->parent, node.parent);  // invariant 4
  return id;
}

bool StackTree::EnsureChunk(ChunkAllocator& chunks, uint32_t number) {
  if (number >= kMaxChunks) return false;
  uint32_t* pages = chunk_pages_.FindOrMap(kMaxChunks);
  if (pages == nullptr) return false;
  if (LoadAcquire(pages[number]) != 0) return true;
  uint8_t* chunk = NewChunk(chunks, number);
  // No room for us, but another thread may have had its chunk before.
  if (chunk == nullptr) return LoadAcquire(pages[number]) != 0;
  const uint32_t page = chunks.OffsetOf(chunk) / kSpoolPageSize;
  uint32_t expected = 0;
  if (CompareExchange(pages[number], &expected, page)) {
    chunks.Publish(chunk, ChunkType::kNodes, NodeChunkPages(number), number);
  } else if (number != 0) {
    spare_page_.store(page, std::memory_order_relaxed);
  }
  return true;
}

uint8_t* StackTree::NewChunk(ChunkAllocator& chunks, uint32_t number) {
  if (number != 0) {
    const uint32_t spare = spare_page_.exchange(0, std::memory_order_relaxed);
    if (spare != 0) return chunks.At(uint64_t{spare} * kSpoolPageSize);
  }
  return chunks.Allocate(NodeChunkPages(number));
}

void StackTree::Reset(bool unmap) {
  next_node_.store(kFirstNode, std::memory_order_relaxed);
  for (size_t i = 0; i < kMaxLevels; ++i)
    levels_[i].Reset(unmap, LevelSlots(i));
  chunk_pages_.Reset(unmap, kMaxChunks);
  spare_page_.store(0, std::memory_order_relaxed);
}

}  // namespace unspool::collectors
