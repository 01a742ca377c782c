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
class RuleCache {
 public:
  static constexpr size_t kEntries = 1 << 14;  // 256 KiB

  // The rule's word for a look-up PC (LookupPc) in a module; 0 if there is
  // none.
  uint64_t Find(uint64_t lookup_pc, ModuleId module) const {
    const uint64_t key = Key(lookup_pc, module);
    const Entry& entry = entries_[Index(key)];
    // Relaxed: words of two writers, mixed in any way, give no key but by the
    // chance of rule1 ^ rule2 == key1 ^ key2 (see Key).
    const uint64_t rule = entry.rule.load(std::memory_order_relaxed);
    const uint64_t check = entry.check.load(std::memory_order_relaxed);
    return (check ^ rule) == key ? rule : 0;
  }

  // `rule` must not be 0.
  void Insert(uint64_t lookup_pc, ModuleId module, uint64_t rule) {
    const uint64_t key = Key(lookup_pc, module);
    Entry& entry = entries_[Index(key)];
    entry.rule.store(rule, std::memory_order_relaxed);
    entry.check.store(key ^ rule, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<uint64_t> check;  // key ^ rule
    std::atomic<uint64_t> rule;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  // One-to-one: 48 bits of PC (a module is never larger), 16 of id, multiplied
  // by an odd number. The product spreads each difference over the upper bits,
  // which in rules hold the slots of callee-saved registers.
  static uint64_t Key(uint64_t lookup_pc, ModuleId module) {
    return (lookup_pc << 16 | (module & 0xffff)) * 0x9e3779b97f4a7c15;
  }
  static size_t Index(uint64_t key) { return key >> 50; }
  static_assert(kEntries == size_t{1} << (64 - 50));

  std::array<Entry, kEntries> entries_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_RULE_CACHE_H_
