// Which of many address ranges, that come and go, has a PC: for code that no
// loaded object holds. Handlers look up while one writer at a time adds.
//
// A region is in the hash chains of the one or two blocks that it touches, in
// blocks of the smallest size for which there are no more than two.
//
// Invariants
//   I1. Numbers and chain links are never used again, so a reader may stand on
//       an entry that was taken out: what follows it is still a chain.
//   I2. A region is written before a link to it is (release, acquire), and not
//       changed after but for `is_alive`, which goes from true to false.

#ifndef UNSPOOL_UNWIND_REGION_TABLE_H_
#define UNSPOOL_UNWIND_REGION_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

// Zeroed memory is a valid, empty table.
class RegionTable {
 public:
  // Regions that are ever added, and one.
  static constexpr uint32_t kCapacity = uint32_t{1} << 18;

  // Adds [start, end), which must not be empty or wrap around, and gives its
  // number, counted from 1. Regions within it are hidden for good. 0: the table
  // is full. One writer at a time.
  uint32_t Add(uint64_t start, uint64_t end);

  bool is_full() const { return count_ + 1 >= kCapacity; }
  // The number that Add() gives next. The writer's.
  uint32_t next() const { return count_ + 1; }

  // Takes a region out. One writer at a time.
  void Remove(uint32_t number);

  // The newest region that has `pc`; 0: none has. Async-signal-safe.
  uint32_t Find(uint64_t pc) const;

  // False once it was removed or hidden. Async-signal-safe.
  bool IsAlive(uint32_t number) const;

 private:
  // Shifts of addresses to blocks: 4 KiB, 64 KiB, … 64 TiB and the rest.
  static constexpr unsigned kFirstShift = 12;
  static constexpr unsigned kShiftStep = 4;
  static constexpr unsigned kLevels = 14;
  static constexpr uint32_t kBuckets = uint32_t{1} << 16;
  // Bounds a reader's steps. Chains are short: hidden regions leave them.
  static constexpr uint32_t kMaxSteps = 1024;

  struct Region {
    uint64_t start;
    uint64_t end;
    std::atomic<bool> is_alive;

    bool Has(uint64_t pc) const { return start <= pc && pc < end; }
  };

  static unsigned ShiftOf(unsigned level) {
    return kFirstShift + level * kShiftStep;
  }
  static uint32_t BucketOf(uint64_t block, unsigned level);
  void Prune(std::atomic<uint32_t>* link, const Region& by);

  uint32_t count_;
  std::atomic<uint32_t> levels_;  // bit: there are regions of this level
  std::array<std::atomic<uint32_t>, kBuckets> heads_;
  // The next entry of entry i, which stands for region i / 2.
  std::array<std::atomic<uint32_t>, 2 * kCapacity> next_;
  std::array<Region, kCapacity> regions_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_REGION_TABLE_H_
