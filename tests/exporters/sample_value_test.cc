#include "exporters/sample_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

TEST(SampleValue, FormatsInTheUnitThatFits) {
  const struct {
    int64_t value;
    const char* from;
    const char* to;
    const char* text;
  } kRows[] = {
      {0, "nanoseconds", "auto", "0"},
      {1, "nanoseconds", "auto", "1ns"},
      {1'234, "nanoseconds", "auto", "1.23us"},
      {450'000'000, "nanoseconds", "auto", "450ms"},
      {1'230'000'000, "nanoseconds", "auto", "1.23s"},
      {-1'230'000'000, "nanoseconds", "auto", "-1.23s"},
      {60'000'000'000, "nanoseconds", "auto", "60s"},
      {7'200'000'000'000, "nanoseconds", "auto", "2hrs"},
      {10'000'000, "nanoseconds", "s", "0.01s"},
      {4'000'000, "nanoseconds", "s", "0"},
      {1'500, "milliseconds", "s", "1.50s"},
      {1'536, "bytes", "auto", "1.50kB"},
      {3'145'728, "kb", "GB", "3GB"},
      {12, "count", "count", "12"},
      {12, "count", "auto", "12"},
      {12, "widgets", "widgets", "12widgets"},
  };
  for (const auto& [value, from, to, text] : kRows) {
    EXPECT_EQ(FormatValue(value, from, to), text) << value << from << to;
  }
}

TEST(SampleValue, SumsEndAtTheLimits) {
  EXPECT_EQ(AddValues(3, -5), -2);
  EXPECT_EQ(AddValues(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(AddValues(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(Magnitude(-7), 7);
  EXPECT_EQ(Magnitude(7), 7);
  EXPECT_EQ(Magnitude(INT64_MIN), INT64_MAX);
}

TEST(SampleValue, FormatsPercentagesWithTwoDigitsAtLeast) {
  const struct {
    double value;
    double total;
    const char* text;
  } kRows[] = {
      {0, 100, "    0%"},        {1, 0, "    0%"},
      {100, 100, "  100%"},      {99'951, 100'000, "  100%"},
      {9'994, 10'000, "99.94%"}, {12, 1'000, " 1.20%"},
      {1, 200, "  0.5%"},        {1, 30'000, "0.0033%"},
      {-25, 100, "25.00%"},      {300, 100, "300.00%"},
  };
  for (const auto& [value, total, text] : kRows) {
    EXPECT_EQ(FormatPercentage(value, total), text) << value << "/" << total;
  }
}

TEST(SampleValue, ChoosesOneUnitForATable) {
  const struct {
    int64_t smallest;
    int64_t largest;
    const char* unit;
    const char* chosen;
  } kRows[] = {
      {10'000'000, 900'000'000, "nanoseconds", "ms"},
      {10'000'000, 1'000'000'000, "nanoseconds", "ms"},  // just 100 times
      {10'000'000, 1'000'000'001, "nanoseconds", "s"},
      {1'000'000, 90'000'000'000, "nanoseconds", "ms"},
      {0, 5'000, "nanoseconds", "us"},
      {3, 700, "count", "count"},
  };
  for (const auto& [smallest, largest, unit, chosen] : kRows) {
    EXPECT_EQ(ChooseTableUnit(smallest, largest, unit), chosen)
        << smallest << " " << largest;
  }
}

TEST(SampleValue, NamesTheTypesThatThereAre) {
  const absl::Status status = SampleTypeIndex(NewCpuProfile(), "wall").status();
  EXPECT_EQ(status.message(),
            "no values of type 'wall'; there are: samples cpu");
}

}  // namespace
}  // namespace unspool::exporters
