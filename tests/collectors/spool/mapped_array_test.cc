// Zero bytes are what the kernel gives, except where something was.

#include "collectors/spool/mapped_array.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace unspool::collectors {
namespace {

struct Case {
  const char* name;
  size_t kept;        // of 100
  size_t resized_to;  // 512 fit into the first page
};

TEST(MappedArray, ResizeAddsZerosAlsoWhereSomethingWas) {
  constexpr Case kCases[] = {
      {"behind all", 100, 300},
      {"amid what was there", 10, 60},
      {"moved", 10, 10'000},
      {"all of it", 0, 100},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    MappedArray<uint64_t> array;
    for (uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(array.Append(i));
    array.Truncate(c.kept);
    ASSERT_TRUE(array.Resize(c.resized_to));
    EXPECT_EQ(array.size(), c.resized_to);
    for (size_t i = 0; i < array.size(); ++i) {
      EXPECT_EQ(array[i], i < c.kept ? i + 1 : 0) << i;
    }
  }
}

TEST(MappedArray, WhatWasThereMovesWithASwap) {
  MappedArray<uint64_t> array;
  ASSERT_TRUE(array.Append(1));
  ASSERT_TRUE(array.Append(2));
  array.Truncate(0);
  MappedArray<uint64_t> other;
  array.Swap(other);
  ASSERT_TRUE(other.Resize(2));
  EXPECT_EQ(other[0], 0u);
  EXPECT_EQ(other[1], 0u);
}

}  // namespace
}  // namespace unspool::collectors
