// One image's view of the mapped spool file, and how it gets chunks of it.
//
// Invariant 1: pages are handed out once, by a compare-and-swap that moves on
//   SpoolHeader's next_free_page, which every process that maps the file
//   shares; and once more by one of a word of SpoolControl::free_runs, where
//   whoever keeps the spool puts what it took from images that ended.
// Invariant 2: they are populated before that. So a full disk is an error code
//   here and never a SIGBUS, neither for who stores to them nor for a reader,
//   who looks at all pages up to next_free_page.
// Invariant 3: a chunk's magic is stored (release) after the rest of its
//   header.
// Invariant 4: of the mapping only windows that chunks of this image are in may
//   be accessed. So mlockall(2) of the program locks and fills those, and not
//   gigabytes of holes.

#ifndef UNSPOOL_COLLECTORS_SPOOL_CHUNK_ALLOCATOR_H_
#define UNSPOOL_COLLECTORS_SPOOL_CHUNK_ALLOCATOR_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_status.h"

namespace unspool::collectors {

// What a forked child finds of its parent's mapping of the spool.
enum class AtFork : uint8_t { kUnmap, kKeep };

class ChunkAllocator {
 public:
  constexpr ChunkAllocator() = default;
  ChunkAllocator(const ChunkAllocator&) = delete;
  ChunkAllocator& operator=(const ChunkAllocator&) = delete;

  // Maps the spool behind `fd`; at most a sixteenth of the address space where
  // that is limited. Numbers this image. Not async-signal-safe: sets up.
  [[nodiscard]] SpoolStatus Map(int fd, AtFork at_fork);
  // Numbers another image, of a forked child that kept the mapping.
  // Async-signal-safe.
  void BeginAfterFork();
  // Unmaps; false to `unmap` only forgets, for a child that inherited the
  // object but not the mapping. Async-signal-safe.
  void Reset(bool unmap);

  // `pages` zeroed pages, or nullptr: no room, until others give some back; or
  // no memory, now and for chunks of this size or more from now on. Lock-free;
  // one system call per try. Async-signal-safe; any number of threads.
  uint8_t* Allocate(uint32_t pages);
  // Takes so many pages now, for when there are no others. Not
  // async-signal-safe: from then on one thread allocates.
  void Keep(uint32_t pages);
  // Makes what Allocate() gave visible to readers. Async-signal-safe.
  void Publish(uint8_t* chunk, ChunkType type, uint32_t pages, uint64_t owner);

  // Async-signal-safe, all of them.
  uint64_t OffsetOf(const void* place) const {
    return static_cast<const uint8_t*>(place) - base_;
  }
  uint8_t* At(uint64_t offset) const { return base_ + offset; }
  SpoolHeader* header() const { return reinterpret_cast<SpoolHeader*>(base_); }
  SpoolControl* control() const {
    return reinterpret_cast<SpoolControl*>(base_ + kSpoolPageSize);
  }
  bool is_mapped() const { return base_ != nullptr; }
  // Of this image, counted from 0 in the order in which images came.
  uint32_t image() const { return image_; }
  // From now on without a system call: populates the next pages, up to `pages`
  // of them, and gives out no others. Not async-signal-safe: one caller.
  void StopGrowing(uint64_t pages);
  // All that was handed out until now, for reading; empty if the kernel refuses
  // that. Async-signal-safe.
  std::span<const uint8_t> bytes();

 private:
  static constexpr uint32_t kNothingRefused = ~uint32_t{0};
  static constexpr uint64_t kWindowPages = 16384;  // 64 MiB
  static constexpr uint64_t kMaxWindows = 256;
  static constexpr uint64_t kMaxPages = kMaxWindows * kWindowPages;

  // Of free_runs; nullptr: there is none of so many pages.
  uint64_t* FindFreeRun(uint32_t pages, PageRun* found) const;
  uint8_t* TakeFreeRun(uint32_t pages);
  uint8_t* TakeNewPages(uint32_t pages);
  bool MakeAccessible(uint64_t page, uint64_t pages);
  bool Populate(uint8_t* chunk, uint32_t pages) const;
  SpoolStatus MapFile(int fd);
  SpoolStatus AdviseMapping(AtFork at_fork);
  SpoolStatus ChoosePopulation(int fd);

  uint8_t* base_ = nullptr;
  uint64_t capacity_pages_ = 0;             // what is mapped
  std::atomic<uint64_t> usable_pages_ = 0;  // what may be handed out
  uint32_t image_ = 0;
  PageRun kept_;  // for when there are no others
  // All usable pages are populated: before Linux 5.14, which cannot populate
  // chunk by chunk, and once growing has stopped.
  std::atomic<bool> is_preallocated_ = false;
  // Populating that many pages failed: asking again at every sample would cost
  // a call each. A smaller chunk may still find room.
  std::atomic<uint32_t> refused_pages_ = kNothingRefused;
  std::atomic<uint64_t> windows_[kMaxWindows / 64] = {};  // bits: accessible
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_CHUNK_ALLOCATOR_H_
