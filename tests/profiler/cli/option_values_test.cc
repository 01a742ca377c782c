#include "profiler/cli/option_values.h"

#include <string>

#include "gtest/gtest.h"
#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

using std::chrono::nanoseconds;

TEST(ParseNumber, TakesDecimalsInItsRangeOnly) {
  EXPECT_EQ(ParseNumber("-F", "1", 1, 10'000), 1u);
  EXPECT_EQ(ParseNumber("-F", "10000", 1, 10'000), 10'000u);
  EXPECT_EQ(ParseNumber("-F", "010", 1, 10'000), 10u);  // not octal
  for (const char* bad : {"", "0", "10001", "-1", "+1", " 1", "1 ", "1.0",
                          "0x10", "4294967297", "ten"}) {
    EXPECT_THROW(ParseNumber("-F", bad, 1, 10'000), Failure) << bad;
  }
}

TEST(ParseSeconds, TakesFractions) {
  EXPECT_EQ(ParseSeconds("-d", "2"), nanoseconds(2'000'000'000));
  EXPECT_EQ(ParseSeconds("-d", "0.25"), nanoseconds(250'000'000));
  EXPECT_EQ(ParseSeconds("-d", "1000000000"),
            nanoseconds(1'000'000'000'000'000'000));
  for (const char* bad :
       {"", "0", "0.0", "-1", "1s", "inf", "nan", "1e3", "1000000001"}) {
    EXPECT_THROW(ParseSeconds("-d", bad), Failure) << bad;
  }
}

TEST(ParseFormat, FlagBeatsEndingBeatsText) {
  struct Row {
    const char* format;
    const char* output;
    ExportFormat expected;
  };
  const Row rows[] = {
      {"", "-", ExportFormat::kText},
      {"", "a.pb.gz", ExportFormat::kPprof},
      {"", "dir.txt/a.pb", ExportFormat::kPprof},
      {"", "a.folded", ExportFormat::kFolded},
      {"", "a.html", ExportFormat::kHtml},
      {"", "a.svg", ExportFormat::kSvg},
      {"html", "-", ExportFormat::kHtml},
      {"svg", "a.html", ExportFormat::kSvg},
      {"", "a.txt", ExportFormat::kText},
      {"folded", "a.txt", ExportFormat::kFolded},
      {"text", "a.pb", ExportFormat::kText},
      {"pprof", "-", ExportFormat::kPprof},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ParseFormat(row.format, row.output), row.expected)
        << row.format << " " << row.output;
  }
  EXPECT_THROW(ParseFormat("", "a.json"), Failure);
  EXPECT_THROW(ParseFormat("json", "-"), Failure);
  EXPECT_THROW(ParseFormat("", ""), Failure);
  EXPECT_THROW(ParseFormat("html", ""), Failure);
}

TEST(ParseRecordOutput, RefusesWhatRecordDoesNotWrite) {
  EXPECT_EQ(ParseRecordOutput("-o", "a"), "a");
  EXPECT_EQ(ParseRecordOutput("-o", "a.pb"), "a.pb");
  for (const char* bad : {"", "-", "a.folded", "a.html", "a.svg", "a.txt"}) {
    EXPECT_THROW(ParseRecordOutput("-o", bad), Failure) << bad;
  }
}

}  // namespace
}  // namespace unspool::profiler
