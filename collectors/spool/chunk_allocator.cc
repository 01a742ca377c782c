// The part of ChunkAllocator that runs in the handler.

#include "collectors/spool/chunk_allocator.h"

#include <sys/mman.h>

#include <span>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

// Each try lost is a chunk that another thread got: this many in a row is
// somebody else's mischief in the shared header.
constexpr int kMaxTries = 1000;

}  // namespace

// The shortest one that is long enough: those who need long ones find them.
uint64_t* ChunkAllocator::FindFreeRun(uint32_t pages, PageRun* found) const {
  const uint64_t usable = usable_pages_.load(std::memory_order_relaxed);
  uint64_t* best = nullptr;
  for (uint64_t& slot : control()->free_runs) {
    const PageRun run = PageRun::FromWord(LoadAcquire(slot));
    if (run.pages < pages || run.first < kFirstChunkPage ||
        run.end() > usable || (best != nullptr && run.pages >= found->pages)) {
      continue;
    }
    best = &slot;
    *found = run;
  }
  return best;
}

// Populated before they are taken, as others are: what was lost then is zeros.
uint8_t* ChunkAllocator::TakeFreeRun(uint32_t pages) {
  // Where nothing is populated chunk by chunk, these pages are not.
  if (is_preallocated_.load(std::memory_order_relaxed)) return nullptr;
  for (size_t tries = 0; tries < std::size(control()->free_runs); ++tries) {
    PageRun run;
    uint64_t* slot = FindFreeRun(pages, &run);
    if (slot == nullptr) return nullptr;
    uint8_t* chunk = At(run.first * kSpoolPageSize);
    if (!MakeAccessible(run.first, pages) || !Populate(chunk, pages)) {
      return nullptr;
    }
    const PageRun rest{run.first + pages, run.pages - pages};
    uint64_t word = run.word();
    if (CompareExchange(*slot, &word, rest.pages == 0 ? 0 : rest.word())) {
      return chunk;
    }
  }
  return nullptr;
}

uint8_t* ChunkAllocator::Allocate(uint32_t pages) {
  uint8_t* chunk = nullptr;
  if (pages < refused_pages_.load(std::memory_order_relaxed)) {
    chunk = TakeFreeRun(pages);
    if (chunk == nullptr) chunk = TakeNewPages(pages);
  }
  if (chunk != nullptr || pages > kept_.pages) return chunk;
  chunk = At(kept_.first * kSpoolPageSize);
  kept_ = {kept_.first + pages, kept_.pages - pages};
  return chunk;
}

void ChunkAllocator::Keep(uint32_t pages) {
  const uint8_t* chunk = Allocate(pages);
  if (chunk != nullptr) kept_ = {OffsetOf(chunk) / kSpoolPageSize, pages};
}

uint8_t* ChunkAllocator::TakeNewPages(uint32_t pages) {
  uint64_t page = LoadRelaxed(header()->next_free_page);
  const uint64_t usable = usable_pages_.load(std::memory_order_relaxed);
  for (int tries = 0; tries < kMaxTries; ++tries) {
    // Other processes can store there: what is found is checked every time.
    if (page < kFirstChunkPage || page > usable || pages > usable - page) {
      return nullptr;
    }
    uint8_t* chunk = At(page * kSpoolPageSize);
    if (!MakeAccessible(page, pages) || !Populate(chunk, pages)) {
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
  return is_preallocated_.load(std::memory_order_relaxed) ||
         madvise(chunk, pages * kSpoolPageSize, MADV_POPULATE_WRITE) == 0;
}

bool ChunkAllocator::MakeAccessible(uint64_t page, uint64_t pages) {
  const uint64_t last = (page + pages - 1) / kWindowPages;
  for (uint64_t window = page / kWindowPages; window <= last; ++window) {
    std::atomic<uint64_t>& word = windows_[window / 64];
    const uint64_t bit = uint64_t{1} << (window % 64);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
    const uint64_t first = window * kWindowPages;
    const uint64_t rest = capacity_pages_ - first;
    const uint64_t size = rest < kWindowPages ? rest : kWindowPages;
    if (mprotect(At(first * kSpoolPageSize), size * kSpoolPageSize,
                 PROT_READ | PROT_WRITE) != 0) {
      return false;
    }
    word.fetch_or(bit, std::memory_order_relaxed);
  }
  return true;
}

std::span<const uint8_t> ChunkAllocator::bytes() {
  uint64_t pages = LoadRelaxed(header()->next_free_page);
  if (pages > capacity_pages_) pages = capacity_pages_;
  if (pages < kFirstChunkPage || !MakeAccessible(0, pages)) return {};
  return {base_, pages * kSpoolPageSize};
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
