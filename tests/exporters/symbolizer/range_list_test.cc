#include "exporters/symbolizer/range_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Pair;

using Bytes = std::vector<uint8_t>;
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

// Little-endian, 8 bytes each.
Bytes Words(const std::vector<uint64_t>& words) {
  Bytes bytes;
  for (const uint64_t word : words) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  return bytes;
}

const Bytes& Addresses() {
  static const Bytes kAddresses = Words({0x1000, 0x2000, 0x3000});
  return kAddresses;
}

Ranges Read(const Bytes& lists, uint16_t version, uint64_t offset = 0) {
  return ReadRangeList({.version = version,
                        .lists = lists,
                        .addresses = Addresses(),
                        .base = 0x500},
                       offset);
}

TEST(RangeList, OfVersion4IsPairsFromABase) {
  const Bytes lists =
      Words({7, 7, 0x10, 0x20, UINT64_MAX, 0x9000, 0x1, 0x2, 0, 0, 5, 6});
  EXPECT_THAT(Read(lists, 4, 16),
              ElementsAre(Pair(0x510, 0x520), Pair(0x9001, 0x9002)));
  EXPECT_THAT(Read(lists, 4, 400), IsEmpty());
  EXPECT_THAT(Read(Words({1, 2, 3}), 4), ElementsAre(Pair(0x501, 0x502)));
}

struct Row {
  const char* name;
  Bytes bytes;
  Ranges expected;
};

TEST(RangeList, OfVersion5HasEachKindOfEntry) {
  const std::vector<Row> rows = {
      {"end", {0, 4, 1, 2}, {}},
      {"base_addressx", {1, 2, 4, 0x10, 0x20, 0}, {{0x3010, 0x3020}}},
      {"startx_endx", {2, 0, 1, 0}, {{0x1000, 0x2000}}},
      {"startx_length", {3, 1, 0x85, 0x01, 0}, {{0x2000, 0x2085}}},
      {"offset_pair", {4, 0x10, 0x20, 0}, {{0x510, 0x520}}},
      {"base_address",
       {5, 0, 0x70, 0, 0, 0, 0, 0, 0, 4, 1, 2, 0},
       {{0x7001, 0x7002}}},
      {"start_end",
       {6, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0},
       {{1, 9}}},
      {"start_length", {7, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0}, {{8, 10}}},
      {"unknown", {4, 1, 2, 8, 4, 1, 2, 0}, {{0x501, 0x502}}},
      {"address beyond the table", {4, 1, 2, 2, 0, 3, 0}, {{0x501, 0x502}}},
      {"cut", {4, 1, 2, 4, 1}, {{0x501, 0x502}}},
      {"empty", {}, {}},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(Read(row.bytes, 5), ElementsAreArray(row.expected)) << row.name;
  }
}

uint64_t Offset(const Bytes& lists, uint64_t index) {
  return OffsetOfRangeList({.lists = lists, .addresses = {}}, index);
}

TEST(RangeList, HasANumberInTheTableOfItsUnit) {
  const Bytes lists = {20, 0, 0, 0, 5, 0, 8,    0, 2, 0, 0, 0,
                       8,  0, 0, 0, 9, 0, 0x10, 0, 0, 0, 0, 0};
  EXPECT_EQ(Offset(lists, 0), 12u + 8u);
  EXPECT_EQ(Offset(lists, 1), UINT64_MAX);  // far outside
  EXPECT_EQ(Offset(lists, 2), UINT64_MAX);
  EXPECT_EQ(Offset({}, 0), UINT64_MAX);
  Bytes wide = {255, 255, 255, 255, 24, 0, 0, 0, 0, 0, 0, 0, 5, 0,
                8,   0,   1,   0,   0,  0, 9, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Offset(wide, 0), 20u + 9u);
  wide.resize(24);
  EXPECT_EQ(Offset(wide, 0), UINT64_MAX);
}

}  // namespace
}  // namespace unspool::exporters
