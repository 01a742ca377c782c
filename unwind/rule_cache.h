// Rules by PC, shared by all threads, wait-free.
//
// An entry is two words, (key ^ rule) and rule, written and read apart. A
// reader that meets a half-written entry finds a key that is not its own, and
// misses: it gets either nothing or a rule that some thread stored for that
// very key.
//
// The key holds the module's id. Ids are never reused, so rules of a library
// that is gone cannot be applied to what is mapped in its place.
//
// Each entry links to that of the caller which the first walk found there.
// Elsewhere it may be another, but where it is not, a walk knows the caller's
// rule before it has read the return address, and then has only to compare:
// without links, each frame's loads wait for those of the frame before.

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
  // The bits of rules that are the cache's, and 0 elsewhere: a link, the byte
  // offset of an entry (of the first one: there is none).
  static constexpr uint64_t kLinkBits = 0x3fff0;

  // What a module adds to the keys of its PCs; for Trail.
  static constexpr uint64_t Salt(ModuleId module) {
    return (uint64_t{module} << 48) * kFactor;
  }

  // The rule's word for a look-up PC (LookupPc) in a module; 0 if there is
  // none.
  uint64_t Find(uint64_t lookup_pc, ModuleId module) const {
    const uint64_t product = Product(lookup_pc);
    return FindEntry(product, product + Salt(module)).word & ~kLinkBits;
  }

  // `rule` must not be 0.
  void Insert(uint64_t lookup_pc, ModuleId module, uint64_t rule) {
    const uint64_t key = Product(lookup_pc) + Salt(module);
    const size_t own = Index(Product(lookup_pc));
    size_t place = own;
    for (size_t way = 0; way < kWays; ++way) {
      const Entry& entry = entries_[own ^ way];
      if (entry.word() == 0 || entry.Get(key) != 0) {
        place = own ^ way;
        break;
      }
    }
    entries_[place].Set(key, rule);
  }

  class Trail;

 private:
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  static constexpr size_t kWays = 4;

  // Relaxed: words of two writers, mixed in any way, give no key but by the
  // chance of rule1 ^ rule2 == key1 ^ key2 (see Product).
  class Entry {
   public:
    uint64_t word() const { return word_.load(std::memory_order_relaxed); }
    // 0: it is another key's, or nobody's.
    uint64_t Get(uint64_t key) const {
      const uint64_t read = word();
      return (check_.load(std::memory_order_relaxed) ^ read) == key ? read : 0;
    }
    void Set(uint64_t key, uint64_t word) {
      word_.store(word, std::memory_order_relaxed);
      check_.store(key ^ word, std::memory_order_relaxed);
    }
    // If it has none. What is half-written stays so.
    void AddLink(uint64_t link) {
      const uint64_t check = check_.load(std::memory_order_relaxed);
      const uint64_t unlinked = word();
      if ((unlinked & kLinkBits) != 0) return;
      word_.store(unlinked ^ link, std::memory_order_relaxed);
      check_.store(check ^ link, std::memory_order_relaxed);
    }

   private:
    std::atomic<uint64_t> check_;
    std::atomic<uint64_t> word_;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  static_assert(kLinkBits == (kEntries - 1) * sizeof(Entry));

  struct Found {
    size_t place = 0;
    uint64_t word = 0;  // 0: nothing was found
  };
  Found FindEntry(uint64_t product, uint64_t key) const {
    const size_t own = Index(product);
    for (size_t way = 0; way < kWays; ++way) {
      const uint64_t word = entries_[own ^ way].Get(key);
      if (word != 0) return {own ^ way, word};
    }
    return {};
  }

  // A key is one-to-one with 48 bits of PC (a module is never larger) and 16 of
  // id: both, multiplied by an odd number. The product spreads each difference
  // over the upper bits, which in rules hold the slots of callee-saved
  // registers. A return address is one more than what is looked up for it, and
  // a walk waits for its product.
  static constexpr uint64_t Product(uint64_t lookup_pc) {
    return (lookup_pc + 1) * kFactor;
  }
  static size_t Index(uint64_t product) { return product >> 50; }
  static_assert(kEntries == size_t{1} << (64 - 50));

  alignas(64) std::array<Entry, kEntries> entries_;
};

// The rules on the way of one walk. All members are async-signal-safe.
class RuleCache::Trail {
 public:
  explicit Trail(RuleCache& cache) : cache_(&cache) {}

  // What Find() gives: fast for the caller of what was found last, if its entry
  // is linked to. The cache's bits are in it.
  [[gnu::always_inline]] uint64_t Next(uint64_t lookup_pc, uint64_t salt) {
    const uint64_t product = Product(lookup_pc);
    // Where the link is wrong, its entry is not waited for in vain.
    __builtin_prefetch(&cache_->entries_[Index(product)]);
    const uint64_t word = At(link_).Get(product + salt);
    if (word == 0) [[unlikely]] {
      return Search(product, product + salt);
    }
    last_ = link_;
    link_ = word & kLinkBits;
    return word;
  }

 private:
  Entry& At(uint64_t link) const {
    return *reinterpret_cast<Entry*>(
        reinterpret_cast<char*>(cache_->entries_.data()) + link);
  }

  uint64_t Search(uint64_t product, uint64_t key) {
    const Found found = cache_->FindEntry(product, key);
    const bool is_unlinked = link_ == 0 && last_ != 0;
    Entry& last = At(last_);
    last_ = found.place * sizeof(Entry);
    link_ = found.word & kLinkBits;
    if (found.word != 0 && is_unlinked) last.AddLink(last_);
    return found.word;
  }

  RuleCache* cache_;
  uint64_t last_ = 0;  // the entry that was found last, as a link
  uint64_t link_ = 0;  // the one that it links to
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_RULE_CACHE_H_
