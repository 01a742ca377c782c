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

TEST(MappedArray, ResizeAddsZerosAlsoInTheArrayItself) {
  MappedArray<uint64_t> array;
  for (uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(array.Append(i));
  array.Truncate(3);
  ASSERT_TRUE(array.Resize(20));
  for (size_t i = 0; i < array.size(); ++i) {
    EXPECT_EQ(array[i], i < 3 ? i + 1 : 0) << i;
  }
}

TEST(MappedArray, FewValuesLieInTheArrayMoreBehindThem) {
  MappedArray<uint64_t> array;
  const auto* own = reinterpret_cast<const unsigned char*>(&array);
  const auto is_inside = [&] {
    const auto* data = reinterpret_cast<const unsigned char*>(array.data());
    return data >= own && data < own + sizeof(array);
  };
  size_t inside = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(array.Append(i));
    if (is_inside()) ++inside;
  }
  EXPECT_EQ(inside, 32u);  // of eight bytes
  for (uint64_t i = 0; i < array.size(); ++i) ASSERT_EQ(array[i], i);
}

}  // namespace
}  // namespace unspool::collectors
