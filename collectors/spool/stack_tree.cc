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

// The parent comes in last and by one multiplication: it is what the search for
// the caller has just found, so all else is computed meanwhile. A product's
// high half depends on all bits; the fold brings it down to where windows look.
uint64_t HashNode(const StackNode& node) {
  const uint64_t frame = node.offset * 0xbf58476d1ce4e5b9u ^
                         node.module_and_flags * 0x94d049bb133111ebu;
  const uint64_t hash = frame ^ node.parent * 0x9e3779b97f4a7c15u;
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

uint32_t StackTree::FindOrAdd(ChunkAllocator& chunks, uint32_t parent,
                              uint32_t module_and_flags, uint64_t offset) {
  const StackNode key{parent, module_and_flags, offset};
  const uint64_t hash = HashNode(key);
  const uint32_t tag = TagOf(hash);
  uint32_t added = 0;  // ours, not yet in the index
  for (size_t i = 0; i < kMaxLevels; ++i) {
    uint32_t* level = Level(i);
    if (level == nullptr) return 0;
    // Each level looks at other bits, so that keys that share a window part.
    const uint64_t window_mask = LevelSlots(i) / kWindowSlots - 1;
    const uint64_t window = (hash >> (i * 7)) & window_mask;
    uint32_t* slots = level + window * kWindowSlots;
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
