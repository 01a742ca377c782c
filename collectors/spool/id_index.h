// Finds entries of a table by content: open addressing from a hash to the
// table's ids, which count from 1.

#ifndef UNSPOOL_COLLECTORS_SPOOL_ID_INDEX_H_
#define UNSPOOL_COLLECTORS_SPOOL_ID_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "collectors/spool/mapped_array.h"

namespace unspool::collectors {

// Mixes `value` into `hash` (multiply and fold).
constexpr uint64_t HashMix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

// Not async-signal-safe: allocates.
class IdIndex {
 public:
  // The id for which `is_same(id)` among those added with this hash; otherwise
  // that of `add()`, which makes a new entry. 0: no memory, or add() gave 0.
  template <typename IsSame, typename Add>
  uint32_t FindOrAdd(uint64_t hash, IsSame is_same, Add add) {
    if (!EnsureRoom()) return 0;
    const auto short_hash = static_cast<uint32_t>(hash);
    size_t i = short_hash & (slots_.size() - 1);
    for (; slots_[i].id != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].hash == short_hash && is_same(slots_[i].id)) {
        return slots_[i].id;
      }
    }
    const uint32_t id = add();
    if (id != 0) {
      slots_[i] = {short_hash, id};
      ++used_;
    }
    return id;
  }

 private:
  static constexpr size_t kFirstSize = 32;

  struct Slot {
    uint32_t hash;
    uint32_t id;  // 0: free
  };

  // Keeps it at most half full.
  bool EnsureRoom() {
    if (slots_.size() > used_ * 2) return true;
    const size_t size = slots_.empty() ? kFirstSize : slots_.size() * 2;
    MappedArray<Slot> old;
    if (!old.AppendAll(slots_.view())) return false;
    slots_.Truncate(0);
    if (!slots_.Resize(size)) return false;
    for (const Slot& slot : old) {
      if (slot.id == 0) continue;
      size_t i = slot.hash & (size - 1);
      while (slots_[i].id != 0) i = (i + 1) & (size - 1);
      slots_[i] = slot;
    }
    return true;
  }

  MappedArray<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_ID_INDEX_H_
