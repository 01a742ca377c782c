// Mapping the file: what happens once, at start, outside any handler.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "collectors/spool/atomic_access.h"
#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/spool_writer.h"
#include "unwind/mapped_memory.h"

namespace unspool::collectors {

namespace {

// Under a tight RLIMIT_AS, mapping less is better than not recording; below
// this it is not worth it.
constexpr uint64_t kLeastMappedPages = 64;

// In pages: the program needs the rest itself.
uint64_t AddressSpaceShare() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return ~uint64_t{0};
  return std::max(limit.rlim_cur / 16 / kSpoolPageSize, kLeastMappedPages);
}

SpoolStatus CheckHeader(int fd, SpoolHeader* header) {
  const ssize_t got = pread(fd, header, sizeof(*header), 0);
  if (got < 0) return SpoolStatus::kBadDescriptor;
  if (static_cast<size_t>(got) < sizeof(*header) ||
      header->magic != kSpoolMagic) {
    return SpoolStatus::kNotASpool;
  }
  if (header->version != kSpoolVersion ||
      header->header_size != sizeof(SpoolHeader)) {
    return SpoolStatus::kWrongVersion;
  }
  return SpoolStatus::kOk;
}

}  // namespace

SpoolStatus ChunkAllocator::Map(int fd, AtFork at_fork) {
  SpoolStatus status = MapFile(fd);
  if (status == SpoolStatus::kOk) status = AdviseMapping(at_fork);
  if (status == SpoolStatus::kOk) status = ChoosePopulation(fd);
  if (status != SpoolStatus::kOk) {
    Reset(/*unmap=*/true);
    return status;
  }
  image_ = FetchAdd(control()->next_image, 1);
  return SpoolStatus::kOk;
}

void ChunkAllocator::BeginAfterFork() {
  refused_pages_.store(kNothingRefused, std::memory_order_relaxed);
  image_ = FetchAdd(control()->next_image, 1);
}

SpoolStatus ChunkAllocator::MapFile(int fd) {
  SpoolHeader header;
  const SpoolStatus status = CheckHeader(fd, &header);
  if (status != SpoolStatus::kOk) return status;
  struct stat file;
  if (fstat(fd, &file) != 0) return SpoolStatus::kBadDescriptor;
  // Never past the end of the file: a store there is SIGBUS.
  const uint64_t file_pages =
      std::min<uint64_t>(header.capacity_pages,
                         static_cast<uint64_t>(file.st_size) / kSpoolPageSize);
  if (file_pages <= kFirstChunkPage) return SpoolStatus::kTooSmall;
  for (uint64_t pages = std::min({file_pages, kMaxPages, AddressSpaceShare()});;
       pages /= 2) {
    const size_t size = pages * kSpoolPageSize;
    void* base = mmap(unwind::NextOwnAddress(size), size, PROT_NONE,
                      MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base != MAP_FAILED) {
      base_ = static_cast<uint8_t*>(base);
      capacity_pages_ = pages;
      usable_pages_.store(pages);
      return SpoolStatus::kOk;
    }
    if (errno != ENOMEM) return SpoolStatus::kBadDescriptor;
    if (pages / 2 < kLeastMappedPages) return SpoolStatus::kNoMemory;
  }
}

SpoolStatus ChunkAllocator::AdviseMapping(AtFork at_fork) {
  const size_t size = capacity_pages_ * kSpoolPageSize;
  // A core dump would make every hole of the file a page of zeros.
  madvise(base_, size, MADV_DONTDUMP);
  const bool is_advised =
      at_fork == AtFork::kKeep || madvise(base_, size, MADV_DONTFORK) == 0;
  return is_advised && MakeAccessible(0, kFirstChunkPage)
             ? SpoolStatus::kOk
             : SpoolStatus::kNoMemory;
}

// Linux 5.14 and later populate chunk by chunk. Before, a bounded part of the
// file is allocated here, and that is all there is.
SpoolStatus ChunkAllocator::ChoosePopulation(int fd) {
  if (madvise(base_, kFirstChunkPage * kSpoolPageSize, MADV_POPULATE_WRITE) ==
      0) {
    return SpoolStatus::kOk;
  }
  if (errno != EINVAL) return SpoolStatus::kNoMemory;
  is_preallocated_.store(true);
  const uint64_t next = LoadRelaxed(header()->next_free_page);
  if (next >= capacity_pages_) return SpoolStatus::kTooSmall;
  const uint64_t usable =
      std::min(capacity_pages_, next + kPreallocatedBytes / kSpoolPageSize);
  usable_pages_.store(usable);
  if (fallocate(fd, 0, 0, usable * kSpoolPageSize) != 0) {
    return SpoolStatus::kNoMemory;
  }
  return SpoolStatus::kOk;
}

// Other images that record in the spool take from the populated pages, too.
void ChunkAllocator::StopGrowing(uint64_t pages) {
  const uint64_t usable = usable_pages_.load();
  const uint64_t next = std::min(LoadRelaxed(header()->next_free_page), usable);
  pages = std::min(pages, usable - next);
  if (!is_preallocated_.load() && pages != 0 &&
      (!MakeAccessible(next, pages) ||
       madvise(At(next * kSpoolPageSize), pages * kSpoolPageSize,
               MADV_POPULATE_WRITE) != 0)) {
    pages = 0;
  }
  usable_pages_.store(next + pages);
  is_preallocated_.store(true);
}

void ChunkAllocator::Reset(bool unmap) {
  if (unmap && base_ != nullptr) {
    munmap(base_, capacity_pages_ * kSpoolPageSize);
  }
  base_ = nullptr;
  capacity_pages_ = 0;
  usable_pages_.store(0);
  image_ = 0;
  kept_ = {};
  is_preallocated_.store(false);
  refused_pages_.store(kNothingRefused, std::memory_order_relaxed);
  for (auto& word : windows_) word.store(0, std::memory_order_relaxed);
}

}  // namespace unspool::collectors
