#include "unwind/byte_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace unspool::unwind {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ByteReader, ReadsFixedSizesInOrder) {
  const Bytes bytes = {0x01, 0x02, 0x03, 0xfc, 0xff, 0xff, 0xff, 1,
                       2,    3,    4,    5,    6,    7,    8};
  ByteReader reader(bytes, 0x1000);
  EXPECT_EQ(reader.U8(), 1);
  EXPECT_EQ(reader.U16(), 0x0302);
  EXPECT_EQ(reader.S32(), -4);
  EXPECT_EQ(reader.address(), 0x1007u);
  EXPECT_EQ(reader.U64(), 0x0807060504030201u);
  EXPECT_TRUE(reader.empty());
  EXPECT_TRUE(reader.ok());
}

TEST(ByteReader, ErrorIsSticky) {
  const Bytes bytes = {1, 2, 3};
  ByteReader reader(bytes, 0);
  EXPECT_EQ(reader.U32(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.U8(), 0);
  EXPECT_TRUE(reader.Bytes(0).empty());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReader, JumpStaysInside) {
  const Bytes bytes = {1, 2, 3, 4};
  ByteReader reader(bytes, 0);
  reader.Jump(4);
  EXPECT_TRUE(reader.ok() && reader.empty());
  reader.Jump(-3);
  EXPECT_EQ(reader.U8(), 2);
  reader.Jump(-3);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, ReadsUleb128) {
  const struct {
    Bytes bytes;
    bool ok;
    uint64_t value;
  } rows[] = {
      {{0x00}, true, 0},
      {{0x7f}, true, 127},
      {{0x80, 0x01}, true, 128},
      {{0xe5, 0x8e, 0x26}, true, 624485},   // DWARF 5, figure C.1's example
      {{0x81, 0x80, 0x80, 0x00}, true, 1},  // padded
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
       true,
       ~uint64_t{0}},
      // 65 bits; a bit beyond in padding; without an end; empty.
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03}, false, 0},
      {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
       false,
       0},
      {{0x80, 0x80}, false, 0},
      {{}, false, 0},
      {Bytes(40, 0x80), false, 0},
  };
  for (const auto& row : rows) {
    ByteReader reader(row.bytes, 0);
    EXPECT_EQ(reader.Uleb128(), row.value) << testing::PrintToString(row.bytes);
    EXPECT_EQ(reader.ok(), row.ok) << testing::PrintToString(row.bytes);
  }
}

TEST(ByteReader, ReadsSleb128) {
  const struct {
    Bytes bytes;
    bool ok;
    int64_t value;
  } rows[] = {
      {{0x00}, true, 0},
      {{0x02}, true, 2},
      {{0x7e}, true, -2},
      {{0xff, 0x00}, true, 127},
      {{0x81, 0x7f}, true, -127},
      {{0x80, 0x7f}, true, -128},
      {{0xff, 0xff, 0x7f}, true, -1},  // padded
      {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00},
       true,
       kMax},
      {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
       true,
       kMin},
      // 65 bits; without an end.
      {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, false, 0},
      {{0xff}, false, 0},
      {Bytes(40, 0xff), false, 0},
  };
  for (const auto& row : rows) {
    ByteReader reader(row.bytes, 0);
    EXPECT_EQ(reader.Sleb128(), row.value) << testing::PrintToString(row.bytes);
    EXPECT_EQ(reader.ok(), row.ok) << testing::PrintToString(row.bytes);
  }
}

}  // namespace
}  // namespace unspool::unwind
