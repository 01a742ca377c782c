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
  cache->Insert(0x1000, 1, 6);
  EXPECT_EQ(cache->Find(0x1000, 1), 6u);
  cache->Insert(0x1000, 1, 7);
  EXPECT_EQ(cache->Find(0x1000, 1), 7u);
}

TEST(RuleCache, RulesBelongToTheirModule) {
  const auto cache = EmptyCache();
  cache->Insert(0x1000, 1, 6);
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
    cache->Insert(0x7f0000000000 + i * 7, 3, (i + 1) << 18);
  }
  uint64_t kept = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const uint64_t rule = cache->Find(0x7f0000000000 + i * 7, 3);
    EXPECT_TRUE(rule == 0 || rule == (i + 1) << 18);
    if (rule != 0) ++kept;
  }
  EXPECT_GT(kept, kCount * 3 / 4);
}

// A trail finds what Find() does, in whatever order and however often.
TEST(RuleCache, ATrailLeadsWhereFindDoes) {
  const auto cache = EmptyCache();
  constexpr uint64_t kPcs = 64;
  for (uint64_t i = 0; i < kPcs; i += 2) {
    cache->Insert(0x1000 + i, static_cast<ModuleId>(i % 3), i << 18 | 1);
  }
  uint64_t state = 7;
  RuleCache::Trail trail(*cache);
  for (int i = 0; i < 10'000; ++i) {
    // Mostly on along one way, so that links are there and lead right.
    state = state * 6364136223846793005 + 1442695040888963407;
    const uint64_t place =
        (state >> 40) % 4 == 0 ? (state >> 45) % kPcs : i % kPcs;
    for (const ModuleId module : {0u, 1u, 2u}) {
      EXPECT_EQ(trail.Next(0x1000 + place, RuleCache::Salt(module)) &
                    ~RuleCache::kLinkBits,
                cache->Find(0x1000 + place, module));
    }
  }
}

// Links are for the first way that was found: no later one writes again.
TEST(RuleCache, LinksAreWrittenOnce) {
  const auto cache = EmptyCache();
  const uint64_t salt = RuleCache::Salt(1);
  for (const uint64_t pc : {0x1000, 0x2000, 0x3000}) cache->Insert(pc, 1, 1);
  const auto link_of = [&](uint64_t pc) {
    return RuleCache::Trail(*cache).Next(pc, salt) & RuleCache::kLinkBits;
  };
  EXPECT_EQ(link_of(0x1000), 0u);
  uint64_t first = 0;
  for (const uint64_t caller : {0x2000, 0x3000}) {
    RuleCache::Trail trail(*cache);
    trail.Next(0x1000, salt);
    EXPECT_EQ(trail.Next(caller, salt) & ~RuleCache::kLinkBits, 1u);
    if (first == 0) first = link_of(0x1000);
    EXPECT_NE(first, 0u);
    EXPECT_EQ(link_of(0x1000), first);
  }
  // Of a function that calls itself, too.
  RuleCache::Trail trail(*cache);
  for (int i = 0; i < 4; ++i) trail.Next(0x3000, salt);
  EXPECT_NE(link_of(0x3000), 0u);
}

// What every thread stores for a PC, so that any reader knows what is right.
uint64_t RuleFor(uint64_t pc) {
  return (pc * 0xbf58476d1ce4e5b9 | 1) & ~RuleCache::kLinkBits;
}

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
      RuleCache::Trail trail(*cache);
      uint64_t state = 1234567 + static_cast<uint64_t>(t);
      for (uint64_t i = 0; i < kRounds; ++i) {
        state = state * 6364136223846793005 + 1442695040888963407;
        const uint64_t pc = 0x7f0000000000 + (state >> 40) % kPcs;
        uint64_t rule = 0;
        if (t % 2 == 0) {
          rule = cache->Find(pc, 5);
        } else {
          rule = trail.Next(pc, RuleCache::Salt(5)) & ~RuleCache::kLinkBits;
        }
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
