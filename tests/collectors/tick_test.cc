#include "collectors/tick.h"

#include <gtest/gtest.h>

#include "collectors/tick_brake.h"

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

TEST(TickBrake, PassesOverWhatKeepsTicksToAQuarterOfTheTime) {
  constexpr uint64_t kPeriodNs = 100'000;
  const struct {
    uint64_t cpu_ns;   // that a tick took
    uint64_t periods;  // that those after it stand for each
    int passed;
  } kRows[] = {{0, 1, 0},           {24'999, 1, 0},       {25'000, 1, 1},
               {100'000, 1, 4},     {13'000'000, 1, 520}, {130'000, 40, 0},
               {13'000'000, 40, 13}};
  for (const auto& row : kRows) {
    const uint64_t weight_ns = row.periods * kPeriodNs;
    TickBrake brake;
    brake.Note(row.cpu_ns);
    int passed = 0;
    while (brake.Passes(weight_ns)) ++passed;
    EXPECT_EQ(passed, row.passed) << row.cpu_ns;
    EXPECT_EQ(brake.TakePassedNs(), weight_ns * static_cast<uint64_t>(passed));
    EXPECT_EQ(brake.TakePassedNs(), 0u);
  }
}

}  // namespace
}  // namespace unspool::collectors
