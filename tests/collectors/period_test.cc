#include "collectors/period.h"

#include <gtest/gtest.h>

#include <climits>

namespace unspool::collectors {
namespace {

TEST(Period, IsTheInverseOfTheFrequencyRoundedDown) {
  EXPECT_EQ(PeriodNs(1), 1'000'000'000u);
  EXPECT_EQ(PeriodNs(100), 10'000'000u);
  EXPECT_EQ(PeriodNs(300), 3'333'333u);
  EXPECT_EQ(PeriodNs(10'000), 100'000u);
}

TEST(TickWeight, CountsTheTickAndThePeriodsThatItOverran) {
  struct Row {
    uint64_t period_ns;
    int overrun;
    uint64_t weight_ns;
  };
  for (const Row& row :
       {Row{10'000'000, 0, 10'000'000}, Row{10'000'000, 1, 20'000'000},
        Row{100'000, 39, 4'000'000},
        // The kernel clamps to DELAYTIMER_MAX.
        Row{1'000'000'000, INT_MAX, 2147483648'000'000'000},
        Row{100'000, -1, 100'000}}) {
    EXPECT_EQ(TickWeightNs(row.period_ns, row.overrun), row.weight_ns)
        << row.overrun;
  }
}

TEST(FirstPeriod, IsAboveZeroAndAtMostAPeriod) {
  EXPECT_EQ(FirstPeriodNs(10, 0, 0), 1u);
  EXPECT_EQ(FirstPeriodNs(10, 9, 0), 10u);
  EXPECT_EQ(FirstPeriodNs(10, 10, 0), 1u);
  EXPECT_EQ(FirstPeriodNs(1, UINT64_MAX, 0), 1u);
  EXPECT_EQ(FirstPeriodNs(10, 9, 4), 8u);
  EXPECT_EQ(FirstPeriodNs(10, 2, 4), 1u);
  EXPECT_EQ(FirstPeriodNs(10, 9, 4'000), 1u);
}

TEST(RestWeight, NoSampleIsForNothing) {
  EXPECT_EQ(RestWeightNs(250'000), 250'000u);
  EXPECT_EQ(RestWeightNs(1), 1u);
  EXPECT_EQ(RestWeightNs(0), 1u);
  EXPECT_EQ(RestWeightNs(-90'000), 1u);
}

// The reason for the random start: threads that live for less than a period
// count, on average, for what they used.
TEST(FirstPeriod, MakesShortThreadsTickInProportionToTheirTime) {
  constexpr uint64_t kPeriodNs = 10'000'000;
  constexpr uint64_t kTickNs = 4'000'000;  // the kernel's
  constexpr uint64_t kLifeNs = 3'000'000;
  constexpr int kThreads = 100'000;
  uint64_t random = 42;
  int ticks = 0;
  for (int i = 0; i < kThreads; ++i) {
    const uint64_t first_ns =
        FirstPeriodNs(kPeriodNs, NextRandom(random), kTickNs);
    // The kernel looks at moments of its own.
    uint64_t noticed_ns = NextRandom(random) % kTickNs;
    while (noticed_ns < first_ns) noticed_ns += kTickNs;
    ticks += noticed_ns <= kLifeNs;
  }
  // 30,000 would be in proportion; 11,250 without regard to the kernel's tick.
  EXPECT_NEAR(ticks, 26'250, 725);
}

}  // namespace
}  // namespace unspool::collectors
