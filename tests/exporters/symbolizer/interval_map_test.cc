#include "exporters/symbolizer/interval_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace unspool::exporters {
namespace {

std::string Lookups(const IntervalMap<char>& map, uint64_t end) {
  std::string values;
  for (uint64_t address = 0; address < end; ++address) {
    const char* value = map.Find(address);
    values += value == nullptr ? '-' : *value;
  }
  return values;
}

TEST(IntervalMap, GivesTheInnermost) {
  const struct {
    const char* name;
    std::vector<std::tuple<uint64_t, uint64_t, char>> intervals;
    const char* values;  // at 0…9
  } kRows[] = {
      {"none", {}, "----------"},
      {"apart", {{6, 8, 'b'}, {1, 3, 'a'}}, "-aa---bb--"},
      {"touching", {{1, 3, 'a'}, {3, 5, 'b'}}, "-aabb-----"},
      {"nested", {{1, 9, 'a'}, {3, 7, 'b'}, {4, 5, 'c'}}, "-aabcbbaa-"},
      {"two inside", {{1, 9, 'a'}, {2, 4, 'b'}, {6, 7, 'c'}}, "-abbaacaa-"},
      {"same start", {{2, 4, 'b'}, {2, 8, 'a'}}, "--bbaaaa--"},
      {"same range", {{2, 4, 'a'}, {2, 4, 'b'}}, "--bb------"},
      {"same end", {{1, 6, 'a'}, {4, 6, 'b'}}, "-aaabb----"},
      {"overlapping", {{1, 5, 'a'}, {3, 8, 'b'}}, "-aabbbbb--"},
      {"overlapping twice",
       {{1, 9, 'a'}, {2, 5, 'b'}, {3, 7, 'c'}},
       "-abccccaa-"},
      {"empty and reversed", {{3, 3, 'a'}, {5, 4, 'b'}}, "----------"},
  };
  for (const auto& [name, intervals, values] : kRows) {
    IntervalMap<char> map;
    for (const auto& [start, end, value] : intervals) {
      map.Add(start, end, value);
    }
    map.Seal();
    EXPECT_EQ(Lookups(map, 10), values) << name;
  }
}

TEST(IntervalMap, ReachesTheEndOfTheAddressSpace) {
  IntervalMap<char> map;
  map.Add(UINT64_MAX - 2, UINT64_MAX, 'a');
  map.Seal();
  EXPECT_EQ(map.Find(UINT64_MAX - 3), nullptr);
  ASSERT_NE(map.Find(UINT64_MAX - 1), nullptr);
  EXPECT_EQ(map.Find(UINT64_MAX), nullptr);
}

TEST(IntervalMap, IsWhatALinearSearchFinds) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    struct Interval {
      uint64_t start;
      uint64_t end;
    };
    std::vector<Interval> intervals;
    IntervalMap<char> map;
    for (char value = 'a'; value < 'a' + 12; ++value) {
      const uint64_t start = random() % 40;
      intervals.push_back({start, start + 1 + random() % 20});
      map.Add(start, intervals.back().end, value);
    }
    map.Seal();
    std::string expected;
    for (uint64_t address = 0; address < 64; ++address) {
      int best = -1;
      for (int i = 0; i < 12; ++i) {
        const Interval& it = intervals[static_cast<size_t>(i)];
        if (address < it.start || address >= it.end) continue;
        if (best < 0) {
          best = i;
          continue;
        }
        const Interval& so_far = intervals[static_cast<size_t>(best)];
        if (it.start > so_far.start ||
            (it.start == so_far.start && it.end <= so_far.end)) {
          best = i;
        }
      }
      expected += best < 0 ? '-' : static_cast<char>('a' + best);
    }
    EXPECT_EQ(Lookups(map, 64), expected) << round;
  }
}

}  // namespace
}  // namespace unspool::exporters
