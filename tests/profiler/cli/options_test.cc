#include "profiler/cli/options.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Options Parse(const std::vector<std::string>& arguments,
              const Variables& variables = {}) {
  return ParseOptions(arguments, [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(ParseOptions, RecordHasTheDocumentedDefaults) {
  const auto options = std::get<RecordOptions>(Parse({"record", "--", "app"}));
  EXPECT_EQ(options.output, "profile.pb.gz");
  EXPECT_EQ(options.frequency, 100u);
  EXPECT_EQ(options.max_depth, 1024u);
  EXPECT_EQ(options.engine, "auto");
  EXPECT_EQ(options.clock, "cpu");
  EXPECT_FALSE(options.duration.has_value());
  EXPECT_THAT(options.command, ElementsAre("app"));
}

TEST(ParseOptions, WhatFollowsTheFirstDashesBelongsToTheProgram) {
  const auto options = std::get<RecordOptions>(
      Parse({"record", "-F", "7", "--", "app", "-F", "--help", "--", "-x"}));
  EXPECT_EQ(options.frequency, 7u);
  EXPECT_THAT(options.command, ElementsAre("app", "-F", "--help", "--", "-x"));
}

TEST(ParseOptions, FlagsBeatVariablesAndVariablesBeatDefaults) {
  const Variables variables = {{"UNSPOOL_FREQUENCY", "31"},
                               {"UNSPOOL_OUTPUT", "v.pb"},
                               {"UNSPOOL_MAX_DEPTH", "77"},
                               {"UNSPOOL_ENGINE", "timer"}};
  const auto options = std::get<RecordOptions>(Parse(
      {"record", "--frequency=32", "-o", "f.pb", "--", "app"}, variables));
  EXPECT_EQ(options.frequency, 32u);
  EXPECT_EQ(options.output, "f.pb");
  EXPECT_EQ(options.max_depth, 77u);
  EXPECT_EQ(options.engine, "timer");
}

TEST(ParseOptions, AnEmptyVariableIsLikeNone) {
  const auto options = std::get<RecordOptions>(
      Parse({"record", "--", "app"}, {{"UNSPOOL_FREQUENCY", ""}}));
  EXPECT_EQ(options.frequency, 100u);
}

TEST(ParseOptions, MergeDiffAndSymbolizeTakeTheirFiles) {
  const auto merge = std::get<MergeOptions>(
      Parse({"merge", "a", "b", "c", "-o", "sum.pb.gz"}));
  EXPECT_EQ(merge.files, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(merge.output, "sum.pb.gz");
  const auto diff = std::get<DiffOptions>(
      Parse({"diff", "a", "b", "-o", "d.folded", "--value", "samples"}));
  EXPECT_EQ(diff.base, "a");
  EXPECT_EQ(diff.view.file, "b");
  EXPECT_EQ(diff.view.value, "samples");
  EXPECT_EQ(diff.view.format, ExportFormat::kFolded);
  const auto symbolize =
      std::get<SymbolizeOptions>(Parse({"symbolize", "a", "-o", "b.pb"}));
  EXPECT_EQ(symbolize.file, "a");
  EXPECT_EQ(symbolize.output, "b.pb");
}

TEST(ParseOptions, ReportAndExportTakeTheirFile) {
  const auto report =
      std::get<ReportOptions>(Parse({"report", "a", "--value", "samples"}));
  EXPECT_EQ(report.file, "a");
  EXPECT_EQ(report.request.value, "samples");
  EXPECT_EQ(report.request.view, exporters::ReportView::kTop);
  const auto callers = std::get<ReportOptions>(
      Parse({"report", "a", "--callers", "f", "--lines", "--focus", "g",
             "--ignore", "h", "--thread", "t", "--json", "--short-templates"}));
  EXPECT_EQ(callers.request.view, exporters::ReportView::kCallers);
  EXPECT_EQ(callers.request.function, "f");
  EXPECT_TRUE(callers.request.by_line);
  EXPECT_TRUE(callers.request.as_json);
  EXPECT_TRUE(callers.short_templates);
  EXPECT_EQ(callers.request.filter.focus, "g");
  EXPECT_EQ(callers.request.filter.ignore, "h");
  EXPECT_EQ(callers.request.filter.thread, "t");
  const auto exporter =
      std::get<ExportOptions>(Parse({"export", "-o", "-", "a"}));
  EXPECT_EQ(exporter.file, "a");
  EXPECT_EQ(exporter.output, "-");
  EXPECT_EQ(exporter.format, ExportFormat::kText);
}

TEST(ParseOptions, CfiTakesAFileAndAnAddress) {
  const auto whole = std::get<CfiOptions>(Parse({"cfi", "a"}));
  EXPECT_EQ(whole.file, "a");
  EXPECT_FALSE(whole.is_raw);
  EXPECT_EQ(whole.pc, std::nullopt);
  const auto one =
      std::get<CfiOptions>(Parse({"cfi", "a", "--raw", "--pc", "0xfF"}));
  EXPECT_TRUE(one.is_raw);
  EXPECT_EQ(one.pc, 255u);
}

TEST(ParseOptions, HelpIsOfTheCommandThatWasNamed) {
  const auto help = std::get<PrintOptions>(Parse({"export", "--help"}));
  EXPECT_THAT(help.text, HasSubstr("Usage: unspool export [OPTIONS] FILE"));
}

TEST(ParseOptions, ErrorsAreUsageErrors) {
  try {
    Parse({"record", "--bogus", "--", "app"});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_status(), kExitUsage);
    EXPECT_THAT(failure.what(), HasSubstr("--bogus"));
  }
}

}  // namespace
}  // namespace unspool::profiler
