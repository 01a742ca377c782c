// Rules by PC, shared by all threads, wait-free.
//
// An entry is two words, (key ^ rule) and rule, written and read apart. A
// reader that meets a half-written entry finds a key that is not its own, and
// misses: it gets either nothing or a rule that some thread stored for that
// very key.
//
// The key holds the module's id. Ids are never reused, so rules of a library
// that is gone cannot be applied to what is mapped in its place.

#ifndef UNSPOOL_UNWIND_RULE_CACHE_H_
#define UNSPOOL_UNWIND_RULE_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/frame.h"

namespace unspool::unwind {

// Zeroed memory is an empty cache. All members are async-signal-safe; any
// number of threads at once.
//
// A key has a place of its own, and where another key was before it, one of the
// three others in the same cache line.
class RuleCache {
 public:
  static constexpr size_t kEntries = 1 << 14;  // 256 KiB

  // The rule's word for a look-up PC (LookupPc) in a module; 0 if there is
  // none.
  uint64_t Find(uint64_t lookup_pc, ModuleId module) const {
    const uint64_t key = Key(lookup_pc, module);
    const size_t index = Index(lookup_pc);
    const uint64_t rule = entries_[index].Get(key);
    return rule != 0 ? rule : FindBeside(index, key);
  }

  // `rule` must not be 0.
  void Insert(uint64_t lookup_pc, ModuleId module, uint64_t rule) {
    const uint64_t key = Key(lookup_pc, module);
    const size_t own = Index(lookup_pc);
    size_t place = own;
    for (size_t way = 0; way < kWays; ++way) {
      const Entry& entry = entries_[own ^ way];
      if (entry.IsEmpty() || entry.Get(key) != 0) {
        place = own ^ way;
        break;
      }
    }
    entries_[place].Set(key, rule);
  }

 private:
  static constexpr size_t kWays = 4;

  // Relaxed: words of two writers, mixed in any way, give no key but by the
  // chance of rule1 ^ rule2 == key1 ^ key2 (see Key).
  struct Entry {
    std::atomic<uint64_t> check;  // key ^ rule
    std::atomic<uint64_t> rule;

    uint64_t Get(uint64_t key) const {
      const uint64_t word = rule.load(std::memory_order_relaxed);
      return (check.load(std::memory_order_relaxed) ^ word) == key ? word : 0;
    }
    void Set(uint64_t key, uint64_t word) {
      rule.store(word, std::memory_order_relaxed);
      check.store(key ^ word, std::memory_order_relaxed);
    }
    bool IsEmpty() const { return rule.load(std::memory_order_relaxed) == 0; }
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  uint64_t FindBeside(size_t own, uint64_t key) const {
    for (size_t way = 1; way < kWays; ++way) {
      const uint64_t rule = entries_[own ^ way].Get(key);
      if (rule != 0) return rule;
    }
    return 0;
  }

  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  // One-to-one: 48 bits of PC (a module is never larger), 16 of id, multiplied
  // by an odd number. The product spreads each difference over the upper bits,
  // which in rules hold the slots of callee-saved registers. Never 0, which
  // what is empty would match.
  static uint64_t Key(uint64_t lookup_pc, ModuleId module) {
    return (lookup_pc << 16 | (module & 0xffff)) * kFactor;
  }
  // By the return address itself, as a walk waits for the entry.
  static size_t Index(uint64_t lookup_pc) {
    return (lookup_pc + 1) * kFactor >> 50;
  }
  static_assert(kEntries == size_t{1} << (64 - 50));

  alignas(64) std::array<Entry, kEntries> entries_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_RULE_CACHE_H_
