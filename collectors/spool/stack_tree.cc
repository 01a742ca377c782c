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

[[gnu::hot]] void StackTree::FindOrAdd(ChunkAllocator& chunks, PathNode parent,
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
// what all frames need is asked for before the first is waited for. Those
// behind the first that is not on the last level are mostly new, and need
// nothing else.
[[gnu::hot]] void StackTree::Prefetch(const ChunkAllocator& chunks,
                                      std::span<const PathNode> path) const {
  const size_t last = last_level_.load(std::memory_order_acquire);
  const uint32_t* level = levels_[last].Find();
  if (level == nullptr) return;
  for (const PathNode& frame : path) {
    __builtin_prefetch(level + WindowOf(frame.hash, last, 0));
  }
  if (last == 0) return;
  for (const PathNode& frame : path) {
    const uint32_t* slots = level + WindowOf(frame.hash, last, 0);
    uint32_t found = 0;
    for (uint32_t i = 0; i < kWindowSlots && found == 0; ++i) {
      const uint32_t slot = LoadAcquire(slots[i]);  // invariant 2
      if (slot == 0) break;
      if ((slot & ~kIdMask) == TagOf(frame.hash)) found = slot & kIdMask;
    }
    if (found == 0) {
      const uint32_t* before = levels_[last - 1].Find();
      __builtin_prefetch(before + WindowOf(frame.hash, last - 1, 0));
      return;
    }
    __builtin_prefetch(NodeAt(chunks, found));
  }
}

[[gnu::hot]] uint32_t StackTree::FindOrAdd(ChunkAllocator& chunks,
                                           uint64_t hash,
                                           const StackNode& key) {
  uint32_t added = 0;  // ours, not yet in the index
  for (;;) {
    const size_t last = last_level_.load(std::memory_order_acquire);
    const Place place = Find(chunks, hash, key);
    // If somebody was faster with the same key, ours stays unused: sixteen
    // bytes, once in a great while.
    if (place.id != 0) return place.id;
    if (place.free == nullptr) {
      if (!BeginLevel(last + 1)) return 0;
      continue;
    }
    if (added == 0) added = Add(chunks, key);
    if (added == 0) return 0;
    uint32_t empty = 0;
    if (CompareExchange(*place.free, &empty, TagOf(hash) | added)) return added;
  }
}

[[gnu::hot]] StackTree::Place StackTree::Find(const ChunkAllocator& chunks,
                                              uint64_t hash,
                                              const StackNode& key) {
  Place place;
  size_t level = last_level_.load(std::memory_order_acquire);
  for (;; --level) {
    const Place here = FindOnLevel(chunks, level, hash, key);
    if (here.id != 0) return here;
    if (place.free == nullptr) place.free = here.free;
    // Its parent was not there when the levels before were the last ones.
    if (level == 0 ||
        key.parent >= first_ids_[level].load(std::memory_order_relaxed)) {
      return place;
    }
  }
}

[[gnu::hot]] StackTree::Place StackTree::FindOnLevel(
    const ChunkAllocator& chunks, size_t level, uint64_t hash,
    const StackNode& key) {
  uint32_t* const slots = Level(level);
  if (slots == nullptr) return {};
  const uint32_t tag = TagOf(hash);
  for (unsigned window = 0; window < kWindows; ++window) {
    uint32_t* slot = slots + WindowOf(hash, level, window);
    for (uint32_t i = 0; i < kWindowSlots; ++i, ++slot) {
      const uint32_t seen = LoadAcquire(*slot);  // invariant 2
      if (seen == 0) return {0, slot};
      const uint32_t id = seen & kIdMask;
      if ((seen & ~kIdMask) == tag && IsSame(*NodeAt(chunks, id), key)) {
        return {id, nullptr};
      }
    }
  }
  return {};
}

// Makes `level` the last one, unless another thread does. False: there are no
// more, or no memory.
bool StackTree::BeginLevel(size_t level) {
  if (level == kMaxLevels || Level(level) == nullptr) return false;
  uint32_t none = 0;
  first_ids_[level].compare_exchange_strong(
      none, next_node_.load(std::memory_order_relaxed));
  uint32_t last = static_cast<uint32_t>(level - 1);
  last_level_.compare_exchange_strong(last, last + 1);
  return true;
}

// The first stacks spread over all of level 0: page by page it would cost two
// faults each (a look-up, then an addition), most of a forked child's first
// tick.
[[gnu::hot]] uint32_t* StackTree::Level(size_t level) {
  const auto populate = level == 0 ? Populate::kAll : Populate::kTouched;
  return levels_[level].FindOrMap(LevelSlots(level), populate);
}

[[gnu::hot]] StackNode* StackTree::NodeAt(const ChunkAllocator& chunks,
                                          uint32_t id) const {
  const NodePlace place = PlaceOfNode(id);
  const uint64_t page = LoadAcquire(chunk_pages_.Find()[place.chunk]);
  uint8_t* chunk = chunks.At(page * kSpoolPageSize);
  return reinterpret_cast<StackNode*>(chunk + sizeof(ChunkHeader)) + place.slot;
}

[[gnu::hot]] uint32_t StackTree::Add(ChunkAllocator& chunks,
                                     const StackNode& node) {
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

[[gnu::hot]] bool StackTree::EnsureChunk(ChunkAllocator& chunks,
                                         uint32_t number) {
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
  for (size_t i = 0; i < kMaxLevels; ++i) {
    levels_[i].Reset(unmap, LevelSlots(i));
    first_ids_[i].store(0, std::memory_order_relaxed);
  }
  last_level_.store(0, std::memory_order_relaxed);
  chunk_pages_.Reset(unmap, kMaxChunks);
  spare_page_.store(0, std::memory_order_relaxed);
}

}  // namespace unspool::collectors
