#include "unwind/region_table.h"

namespace unspool::unwind {

uint32_t RegionTable::BucketOf(uint64_t block, unsigned level) {
  const uint64_t hash = (block << 4 ^ level) * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 48) % kBuckets;
}

uint32_t RegionTable::Add(uint64_t start, uint64_t end) {
  if (count_ + 1 >= kCapacity) return 0;
  const uint32_t number = ++count_;
  Region& region = regions_[number];
  region.start = start;
  region.end = end;
  region.is_alive.store(true, std::memory_order_relaxed);
  unsigned level = 0;
  while (level + 1 < kLevels &&
         ((end - 1) >> ShiftOf(level)) - (start >> ShiftOf(level)) > 1) {
    ++level;
  }
  levels_.fetch_or(uint32_t{1} << level, std::memory_order_relaxed);
  const uint64_t first = start >> ShiftOf(level);
  const uint64_t last = (end - 1) >> ShiftOf(level);
  for (uint32_t i = 0; i <= last - first; ++i) {
    std::atomic<uint32_t>& head = heads_[BucketOf(first + i, level)];
    Prune(&head, region);
    const uint32_t entry = 2 * number + i;
    next_[entry].store(head.load(std::memory_order_relaxed),
                       std::memory_order_relaxed);
    head.store(entry, std::memory_order_release);  // I2
  }
  return number;
}

// Takes what `by` hides, or was removed, out of a chain.
void RegionTable::Prune(std::atomic<uint32_t>* link, const Region& by) {
  while (const uint32_t entry = link->load(std::memory_order_relaxed)) {
    Region& region = regions_[entry / 2];
    // The region itself may be in the chain, if its two blocks share it.
    if (&region != &by && by.start <= region.start && region.end <= by.end) {
      region.is_alive.store(false, std::memory_order_relaxed);
    }
    if (region.is_alive.load(std::memory_order_relaxed)) {
      link = &next_[entry];
    } else {
      link->store(next_[entry].load(std::memory_order_relaxed),
                  std::memory_order_release);  // I1
    }
  }
}

void RegionTable::Remove(uint32_t number) {
  regions_[number].is_alive.store(false);
}

uint32_t RegionTable::Find(uint64_t pc) const {
  uint32_t newest = 0;
  const uint32_t levels = levels_.load(std::memory_order_relaxed);
  for (unsigned level = 0; level < kLevels; ++level) {
    if ((levels >> level & 1) == 0) continue;
    uint32_t entry = heads_[BucketOf(pc >> ShiftOf(level), level)].load(
        std::memory_order_acquire);  // I2
    for (uint32_t i = 0; entry != 0 && i < kMaxSteps; ++i) {
      const uint32_t number = entry / 2;
      if (number > newest && regions_[number].Has(pc) && IsAlive(number)) {
        newest = number;
      }
      entry = next_[entry].load(std::memory_order_acquire);  // I1
    }
  }
  return newest;
}

bool RegionTable::IsAlive(uint32_t number) const {
  return regions_[number].is_alive.load();
}

}  // namespace unspool::unwind
