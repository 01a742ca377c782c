#include "profiler/cli/summary.h"

#include "gtest/gtest.h"

namespace unspool::profiler {
namespace {

SummaryFacts Facts() {
  SummaryFacts facts;
  facts.totals = {.samples = 1000, .weight_ns = 10'000'000'000};
  facts.engine = "timer";
  facts.frequency = 100;
  facts.cpu_time_ns = 10'000'000'000;
  facts.output = "p.pb.gz";
  return facts;
}

TEST(SummaryLine, SaysCountsEngineOutputAndWhatToTypeNext) {
  SummaryFacts facts = Facts();
  facts.totals.lost = 3;
  facts.totals.truncated = 25;
  EXPECT_EQ(SummaryLine(facts),
            "1000 samples, 3 lost, 2.50 % truncated, timer at 100 Hz -> "
            "p.pb.gz  (next: unspool report p.pb.gz)");
}

TEST(SummaryLine, SaysWhatAuditsFound) {
  SummaryFacts facts = Facts();
  facts.totals.audited = 12;
  EXPECT_NE(SummaryLine(facts).find(
                "truncated, 0 of 12 audited stacks differ, timer"),
            std::string::npos)
      << SummaryLine(facts);
  facts.totals.audit_differs = 2;
  facts.totals.audit_cause = "rule";
  EXPECT_NE(SummaryLine(facts).find("2 of 12 audited stacks differ (rule), "),
            std::string::npos)
      << SummaryLine(facts);
}

TEST(SummaryLine, SaysHowMuchALossIsAndWhy) {
  SummaryFacts facts = Facts();
  facts.totals.lost = 1;
  facts.totals.lost_ns = 2'760'000'000;
  facts.totals.lost_cause = "blocked";
  EXPECT_NE(
      SummaryLine(facts).find("1 lost (2.76 s of 10.00 s, blocked), 0.00 %"),
      std::string::npos)
      << SummaryLine(facts);
  // Of what could be sampled the rate is not 72 but 100.
  facts.totals.samples = 724;
  EXPECT_EQ(SummaryLine(facts).find("reached"), std::string::npos);
}

TEST(SummaryLine, SaysWhatTheUserWouldElseMiss) {
  struct Row {
    const char* name;
    uint64_t samples, weight_ns, cpu_time_ns;
    const char* words;
  };
  constexpr uint64_t kSecond = 1'000'000'000;
  const Row rows[] = {
      {"rate", 500, 10 * kSecond, 10 * kSecond, "Hz (reached 50)"},
      {"far from the rate", 14, 10 * kSecond, 10 * kSecond, "Hz (reached 1)"},
      {"children", 1000, 10 * kSecond, 12 * kSecond,
       "2.00 s of 12.00 s CPU time not profiled"},
      {"nothing", 0, 0, 1000, "0 samples (the program used hardly any CPU"},
      {"agent off", 0, 0, kSecond, "0 samples, 0 lost"},
      {"one", 1, kSecond / 100, kSecond / 100, "1 sample, "},
  };
  for (const Row& row : rows) {
    SummaryFacts facts = Facts();
    facts.totals.samples = row.samples;
    facts.totals.weight_ns = row.weight_ns;
    facts.cpu_time_ns = row.cpu_time_ns;
    EXPECT_NE(SummaryLine(facts).find(row.words), std::string::npos)
        << row.name << ": " << SummaryLine(facts);
  }
}

TEST(SummaryLine, IsSilentAboutSmallDifferences) {
  SummaryFacts facts = Facts();
  facts.cpu_time_ns = 10'090'000'000;
  facts.totals.samples = 950;
  EXPECT_EQ(SummaryLine(facts).find("not profiled"), std::string::npos);
  EXPECT_EQ(SummaryLine(facts).find("reached"), std::string::npos);
}

TEST(SummaryLine, SaysWallClockAndTellsWaitsFromCpuTime) {
  SummaryFacts facts = Facts();
  facts.totals.is_wall = true;
  facts.totals.samples = 500;
  facts.totals.weight_ns = 60'000'000'000;
  facts.totals.waiting_ns = 50'000'000'000;
  EXPECT_EQ(SummaryLine(facts),
            "500 samples, 0 lost, 0.00 % truncated, timer at 100 Hz, wall "
            "clock -> p.pb.gz  (next: unspool report p.pb.gz)");
  facts.cpu_time_ns = 12'000'000'000;  // ours is in it
  EXPECT_EQ(SummaryLine(facts).find("not profiled"), std::string::npos);
  facts.cpu_time_ns = 13'000'000'000;
  EXPECT_NE(SummaryLine(facts).find("3.00 s of 13.00 s CPU time not profiled"),
            std::string::npos);
}

TEST(ShellWord, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellWord("a/b-1.pb.gz"), "a/b-1.pb.gz");
  EXPECT_EQ(ShellWord("a b"), "'a b'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace unspool::profiler
