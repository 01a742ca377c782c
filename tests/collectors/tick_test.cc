#include "collectors/tick.h"

#include <gtest/gtest.h>

#include "collectors/tick_brake.h"
#include "collectors/tick_pace.h"

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
    brake.Begin(7);
    brake.End(7 + row.cpu_ns);
    int passed = 0;
    while (brake.Passes(weight_ns)) ++passed;
    EXPECT_EQ(passed, row.passed) << row.cpu_ns;
    EXPECT_EQ(brake.TakePassedNs(), weight_ns * static_cast<uint64_t>(passed));
    EXPECT_EQ(brake.TakePassedNs(), 0u);
  }
}

TEST(TickBrake, AsksForTheCpuTimeAfterATickOfAQuarterOfAPeriod) {
  TickBrake brake;
  EXPECT_FALSE(brake.is_asking());
  const struct {
    uint64_t elapsed_ns;
    bool is_asking;
  } kRows[] = {{0, false},      {24'999, false},   {25'000, true},
               {24'999, false}, {1'000'000, true}, {0, false}};
  for (const auto& row : kRows) {
    brake.NoteElapsed(row.elapsed_ns, 100'000);
    EXPECT_EQ(brake.is_asking(), row.is_asking) << row.elapsed_ns;
  }
}

TEST(TickPace, AsksTheClockOfFirstAndLateTicksAndOnceInAWhile) {
  constexpr uint64_t kPeriodNs = 250'000;
  constexpr uint64_t kNowNs = 5'000'000'000;
  TickPace pace;
  EXPECT_FALSE(pace.IsOnePeriod(kNowNs, kPeriodNs));
  uint64_t now_ns = kNowNs;
  const struct {
    uint64_t passed_ns;
    bool is_one_period;
  } kRows[] = {{250'000, true},  {100'000, true},    {374'999, true},
               {375'000, false}, {374'999, true},    {500'000, false},
               {500'000, false}, {60'000'000, false}};
  for (const auto& row : kRows) {
    now_ns += row.passed_ns;
    EXPECT_EQ(pace.IsOnePeriod(now_ns, kPeriodNs), row.is_one_period)
        << row.passed_ns;
  }
  for (int asked = 0; asked < 3; ++asked) {
    for (uint32_t i = 0; i < TickPace::kAskEvery - 1; ++i) {
      EXPECT_TRUE(pace.IsOnePeriod(now_ns += kPeriodNs, kPeriodNs)) << i;
    }
    EXPECT_FALSE(pace.IsOnePeriod(now_ns += kPeriodNs, kPeriodNs));
  }
}

}  // namespace
}  // namespace unspool::collectors
