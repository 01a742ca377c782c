// The part of ChunkAllocator that runs in the handler.

#include "collectors/spool/chunk_allocator.h"

#include <sys/mman.h>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

// Each try lost is a chunk that another thread got: this many in a row is
// somebody else's mischief in the shared header.
constexpr int kMaxTries = 1000;

}  // namespace

uint8_t* ChunkAllocator::Allocate(uint32_t pages) {
  if (pages >= refused_pages_.load(std::memory_order_relaxed)) return nullptr;
  uint64_t page = LoadRelaxed(header()->next_free_page);
  for (int tries = 0; tries < kMaxTries; ++tries) {
    // Other processes can store there: what is found is checked every time.
    if (page < kFirstChunkPage || page > usable_pages_ ||
        pages > usable_pages_ - page) {
      return nullptr;
    }
    uint8_t* chunk = At(page * kSpoolPageSize);
    if (!Populate(chunk, pages)) {
      refused_pages_.store(pages, std::memory_order_relaxed);
      return nullptr;
    }
    // Lost: the pages are another's now, populated and untouched.
    if (CompareExchange(header()->next_free_page, &page, page + pages)) {
      return chunk;
    }
  }
  return nullptr;
}

bool ChunkAllocator::Populate(uint8_t* chunk, uint32_t pages) const {
  return is_preallocated_ ||
         madvise(chunk, pages * kSpoolPageSize, MADV_POPULATE_WRITE) == 0;
}

void ChunkAllocator::Publish(uint8_t* chunk, ChunkType type, uint32_t pages,
                             uint64_t owner) {
  auto* header = reinterpret_cast<ChunkHeader*>(chunk);
  header->type = static_cast<uint16_t>(type);
  header->image = image_;
  header->pages = pages;
  header->offset = OffsetOf(chunk);
  header->owner = owner;
  StoreRelease(header->magic, kChunkMagic);  // invariant 3
}

}  // namespace unspool::collectors
