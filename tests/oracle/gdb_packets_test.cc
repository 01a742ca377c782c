#include "tests/oracle/gdb_packets.h"

#include <gtest/gtest.h>

namespace unspool::oracle {
namespace {

TEST(GdbPackets, AreFramedWithTheSumOfTheirCharacters) {
  EXPECT_EQ(ToPacket(""), "$#00");
  EXPECT_EQ(ToPacket("OK"), "$OK#9a");
}

TEST(GdbPackets, EscapeWhatFramesThem) {
  EXPECT_EQ(ToPacket("a#$}*"), std::string("$a}\x03}\x04}]}\n#") + "c3");
}

TEST(GdbPackets, AreTakenOneByOne) {
  std::string received = "+$g#67+$m10,8#32$OK";
  EXPECT_EQ(TakePacket(&received), "g");
  EXPECT_EQ(TakePacket(&received), "m10,8");
  EXPECT_EQ(TakePacket(&received), std::nullopt);
  received += "#9a";
  EXPECT_EQ(TakePacket(&received), "OK");
  EXPECT_EQ(received, "");
}

TEST(GdbPackets, WithAWrongSumAreDropped) {
  std::string received = "$g#68$g#67";
  EXPECT_EQ(TakePacket(&received), std::nullopt);
  EXPECT_EQ(TakePacket(&received), "g");
}

TEST(GdbPackets, BytesAreTwoDigits) {
  const uint8_t bytes[] = {0x00, 0xaf, 0x09};
  EXPECT_EQ(ToHex(bytes), "00af09");
}

}  // namespace
}  // namespace unspool::oracle
