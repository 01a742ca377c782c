#include "collectors/tick.h"

#include <gtest/gtest.h>

namespace unspool::collectors {
namespace {

TEST(TickCookie, GivesTheIndexBack) {
  for (const uint32_t index : {0u, 1u, 32767u, UINT32_MAX}) {
    EXPECT_EQ(ParseTickCookie(TickCookie(index)), index);
  }
}

TEST(TickCookie, OfAStrangerIsNotOurs) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{7}, uint64_t{0x7ffc12345678}, kCookieTag,
        ~uint64_t{0}, (kCookieTag + 1) << 32}) {
    EXPECT_EQ(ParseTickCookie(value), std::nullopt) << std::hex << value;
  }
}

}  // namespace
}  // namespace unspool::collectors
