#include "unwind/rule_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace unspool::unwind {
namespace {

std::unique_ptr<RuleCache> EmptyCache() {
  return std::make_unique<RuleCache>();
}

TEST(RuleCache, FindsWhatWasInserted) {
  const auto cache = EmptyCache();
  EXPECT_EQ(cache->Find(0x1000, 1), 0u);
  cache->Insert(0x1000, 1, 42);
  EXPECT_EQ(cache->Find(0x1000, 1), 42u);
  cache->Insert(0x1000, 1, 43);
  EXPECT_EQ(cache->Find(0x1000, 1), 43u);
}

TEST(RuleCache, RulesBelongToTheirModule) {
  const auto cache = EmptyCache();
  cache->Insert(0x1000, 1, 42);
  EXPECT_EQ(cache->Find(0x1000, 2), 0u);
  EXPECT_EQ(cache->Find(0x1001, 1), 0u);
}

TEST(RuleCache, EmptyCacheHasNoRuleForZero) {
  EXPECT_EQ(EmptyCache()->Find(0, 0), 0u);
}

TEST(RuleCache, KeepsMostOfWhatFits) {
  const auto cache = EmptyCache();
  constexpr uint64_t kCount = RuleCache::kEntries / 4;
  for (uint64_t i = 0; i < kCount; ++i) {
    cache->Insert(0x7f0000000000 + i * 7, 3, i + 1);
  }
  uint64_t kept = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t rule = cache->Find(0x7f0000000000 + i * 7, 3);
    EXPECT_TRUE(rule == 0 || rule == i + 1);
    if (rule != 0) ++kept;
  }
  EXPECT_GT(kept, kCount * 3 / 4);
}

// What every thread stores for a PC, so that any reader knows what is right.
uint64_t RuleFor(uint64_t pc) { return pc * 0xbf58476d1ce4e5b9 | 1; }

TEST(RuleCache, TornEntriesMissAndDoNotLie) {
  const auto cache = EmptyCache();
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 400'000;
  // More PCs than entries: writers keep overwriting each other's.
  constexpr uint64_t kPcs = RuleCache::kEntries * 4;
  std::atomic<uint64_t> lies = 0;
  std::atomic<uint64_t> hits = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      uint64_t state = 1234567 + static_cast<uint64_t>(t);
      for (uint64_t i = 0; i < kRounds; ++i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const uint64_t pc = 0x7f0000000000 + (state >> 40) % kPcs;
        const uint64_t rule = cache->Find(pc, 5);
        if (rule == 0) {
          cache->Insert(pc, 5, RuleFor(pc));
        } else if (rule == RuleFor(pc)) {
          hits.fetch_add(1, std::memory_order_relaxed);
        } else {
          lies.fetch_add(1, std::memory_order_relaxed);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(lies.load(), 0u);
  EXPECT_GT(hits.load(), kRounds / 10);
}

}  // namespace
}  // namespace unspool::unwind
