// The part of ChunkAllocator that runs in the handler.

#include "collectors/spool/chunk_allocator.h"

#include <sys/mman.h>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

uint8_t* ChunkAllocator::Allocate(uint32_t pages) {
  if (is_exhausted_.load(std::memory_order_relaxed)) return nullptr;
  uint64_t& next_free_page = header()->next_free_page;
  // Asked before the bump, so that a full spool does not count up for ever and
  // a small chunk still finds the room that a large one did not.
  const uint64_t seen = LoadRelaxed(next_free_page);
  if (seen > usable_pages_ || pages > usable_pages_ - seen) return nullptr;
  const uint64_t page = FetchAdd(next_free_page, pages);
  // Other processes can store there: what comes back is checked.
  if (page < kFirstChunkPage || page > usable_pages_ ||
      pages > usable_pages_ - page) {
    return nullptr;
  }
  uint8_t* chunk = At(page * kSpoolPageSize);
  if (!is_preallocated_ &&
      madvise(chunk, pages * kSpoolPageSize, MADV_POPULATE_WRITE) != 0) {
    is_exhausted_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  return chunk;
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
