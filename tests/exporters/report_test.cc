#include "exporters/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "exporters/export.h"
#include "exporters/merge.h"
#include "tests/exporters/command.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string Report(const Profile& profile, const ReportRequest& request) {
  std::ostringstream out;
  const absl::Status status = WriteReport(profile, request, out);
  EXPECT_TRUE(status.ok()) << status;
  return std::move(out).str();
}

// From the table's head on.
std::string Rows(const Profile& profile, const ReportRequest& request,
                 std::string_view head) {
  const std::string text = Report(profile, request);
  EXPECT_THAT(text, HasSubstr(std::string(head)));
  return text.substr(text.find(head));
}

NamedProfile Calls() {
  NamedProfile profile;
  profile.Add("leaf < middle < main", 1, 300'000'000);
  profile.Add("middle < main", 2, 500'000'000);
  profile.Add("leaf < other < main", 4, 190'000'000);
  profile.Add("tiny < main", 1, 4'000'000);
  profile.Add("small < main", 1, 6'000'000);
  return profile;
}

TEST(Report, TreeShowsCallersAboveTheirCalls) {
  ReportRequest request;
  request.view = ReportView::kTree;
  EXPECT_EQ(Rows(Calls().get(), request, "       cum"),
            "       cum   cum%       flat  calls, outermost first\n"
            "    1000ms   100%          0  main\n"
            "     800ms 80.00%      500ms  + middle\n"
            "     300ms 30.00%      300ms  | leaf\n"
            "     190ms 19.00%          0  + other\n"
            "     190ms 19.00%      190ms  | leaf\n"
            "       6ms   0.6%        6ms  + small\n"
            "       4ms   0.4%          0  + (1 smaller)\n");
}

TEST(Report, CallersCountASampleOnceFromItsInnermostMatch) {
  NamedProfile profile = Calls();
  profile.Add("leaf < leaf < main", 1, 10'000'000);
  ReportRequest request;
  request.view = ReportView::kCallers;
  request.function = "^leaf$";
  EXPECT_EQ(Rows(profile.get(), request, "       cum"),
            "       cum   cum%  callers, innermost first\n"
            "     0.50s 49.50%  leaf\n"
            "     0.30s 29.70%  + middle\n"
            "     0.30s 29.70%  | main\n"
            "     0.19s 18.81%  + other\n"
            "     0.19s 18.81%  | main\n"
            "     0.01s  0.99%  + leaf\n"
            "     0.01s  0.99%    main\n");
  request.function = "^tiny$";  // however small it is in the whole
  EXPECT_THAT(Report(profile.get(), request), HasSubstr("%  tiny\n"));
}

TEST(Report, FiltersKeepPercentagesOfTheWhole) {
  ReportRequest request;
  request.filter.focus = "lea";
  request.filter.ignore = "^other$";
  EXPECT_EQ(Rows(Calls().get(), request, "      flat"),
            "      flat  flat%   sum%        cum   cum%\n"
            "     300ms 30.00% 30.00%      300ms 30.00%  leaf\n"
            "         0     0% 30.00%      300ms 30.00%  main\n"
            "         0     0% 30.00%      300ms 30.00%  middle\n");
  const char* line = "\nActive filters: focus=lea ignore=^other$\n      flat";
  EXPECT_THAT(Report(Calls().get(), request), HasSubstr(line));
}

TEST(Report, ThreadsAreChosenByNameAndByTid) {
  NamedProfile profile;
  profile.Add("idle", 1, 1'000'000'000);
  Profile& p = profile.get();
  for (int tid : {41, 42}) {
    const std::vector<Label> labels = {
        {.key = p.strings.Intern("tid"), .num = tid},
        {.key = p.strings.Intern("thread"),
         .str = p.strings.Intern("worker" + std::to_string(tid))}};
    p.AddSample(std::vector<uint32_t>{0},
                std::vector<int64_t>{1, tid * 1'000'000'000LL}, labels);
  }
  const struct {
    const char* thread;
    const char* flat;
  } kRows[] = {{"worker41", "       41s"},
               {"42", "       42s"},
               {"worker.*", "       83s"}};
  for (const auto& row : kRows) {
    ReportRequest request;
    request.filter.thread = row.thread;
    EXPECT_THAT(Report(p, request), HasSubstr(row.flat));
  }
  ReportRequest request;
  request.filter.thread = "worker";  // names are matched whole
  std::ostringstream out;
  EXPECT_EQ(WriteReport(p, request, out).code(), absl::StatusCode::kNotFound);
}

TEST(Report, RefusesWithNothingWritten) {
  const struct {
    ReportView view;
    const char* function;
    const char* focus;
    const char* value;
    absl::StatusCode code;
    const char* message;
  } kRows[] = {
      {ReportView::kTop, "", "(", "", absl::StatusCode::kInvalidArgument,
       "'(' is no regular expression: missing ): ("},
      {ReportView::kTop, "", "nowhere", "", absl::StatusCode::kNotFound,
       "no sample matches"},
      {ReportView::kCallers, "[", "", "", absl::StatusCode::kInvalidArgument,
       "'[' is no regular expression: missing ]: ["},
      {ReportView::kCallers, "nowhere", "", "", absl::StatusCode::kNotFound,
       "no function matches 'nowhere'"},
      {ReportView::kList, "nowhere", "", "", absl::StatusCode::kNotFound,
       "no function matches 'nowhere'"},
  };
  for (const auto& row : kRows) {
    ReportRequest request;
    request.view = row.view;
    request.function = row.function;
    request.filter.focus = row.focus;
    std::ostringstream out;
    const absl::Status status = WriteReport(Calls().get(), request, out);
    EXPECT_EQ(status.code(), row.code);
    EXPECT_EQ(status.message(), row.message);
    EXPECT_EQ(out.str(), "");
  }
}

TEST(Report, OfADifferenceIsInPercentOfTheBase) {
  NamedProfile base, now;
  base.Add("f < main", 1, 100'000'000);
  base.Add("g < main", 1, 100'000'000);
  now.Add("f < main", 1, 30'000'000);
  now.Add("g < main", 1, 10'000'000);
  const absl::StatusOr<Profile> diff = Diff(base.get(), now.get());
  ASSERT_TRUE(diff.ok());
  const std::string text = Report(*diff, {});
  EXPECT_THAT(text, HasSubstr("Change from 200ms to 40ms, the latter scaled "
                              "to the former\n"));
  EXPECT_THAT(text, HasSubstr("      flat   flat%        cum    cum%\n"
                              "      50ms +25.00%       50ms +25.00%  f\n"
                              "     -50ms -25.00%      -50ms -25.00%  g\n"));
  ReportRequest tree;
  tree.view = ReportView::kTree;
  EXPECT_EQ(Rows(*diff, tree, "       cum"),
            "       cum    cum%       flat  calls, outermost first\n"
            "         0      0%          0  main\n"
            "      50ms +25.00%       50ms  + f\n"
            "     -50ms -25.00%      -50ms  + g\n");
}

TEST(Report, ADifferenceFromNothingIsAllThereIs) {
  NamedProfile none, now;
  now.Add("f < main", 3, 30'000'000);
  const absl::StatusOr<Profile> grown = Diff(none.get(), now.get());
  ASSERT_TRUE(grown.ok());
  const std::string text = Report(*grown, {});
  EXPECT_THAT(text, HasSubstr("Change from 0 to 30ms, not scaled: one is "
                              "empty\n"));
  EXPECT_THAT(text, HasSubstr("      30ms   +100%       30ms   +100%  f\n"));
  const absl::StatusOr<Profile> gone = Diff(now.get(), none.get());
  ASSERT_TRUE(gone.ok());
  EXPECT_THAT(Report(*gone, {}), HasSubstr("     -30ms   -100%"));
}

TEST(Report, JsonHasExactValuesAndEscapesNames) {
  NamedProfile profile;
  profile.Add("say \"hi\\\"\n\xff\xc3\xa9 < main", 1, 7);
  ReportRequest request;
  request.as_json = true;
  EXPECT_EQ(Report(profile.get(), request),
            "{\"type\": \"cpu\", \"unit\": \"nanoseconds\", \"total\": 7, "
            "\"duration_ns\": 2500000000, \"functions\": [\n"
            "{\"name\": \"say \\\"hi\\\\\\\"\\u000a\\ufffd\xc3\xa9\", "
            "\"flat\": 7, \"cum\": 7, \"inlined\": false},\n"
            "{\"name\": \"main\", \"flat\": 0, \"cum\": 7, \"inlined\": "
            "false}\n]}\n");
  request.view = ReportView::kTree;
  EXPECT_THAT(Report(Calls().get(), request),
              HasSubstr("\"nodes\": [\n"
                        "{\"name\": \"main\", \"parent\": -1, \"flat\": 0, "
                        "\"cum\": 1000000000},\n"
                        "{\"name\": \"middle\", \"parent\": 0, \"flat\": "
                        "500000000, \"cum\": 800000000},\n"));
}

TEST(Report, JsonSaysHowItWasRecorded) {
  NamedProfile profile;
  profile.Add("main", 1, 7);
  Profile& p = profile.get();
  p.AddComment("unspool.samples", "12");
  p.AddComment("unspool.truncated", "3");
  p.AddComment("unspool.lost", "a word");
  p.AddComment("unspool.command", "app 'two words'");
  ReportRequest request;
  request.as_json = true;
  EXPECT_THAT(Report(p, request),
              HasSubstr("\"duration_ns\": 2500000000, \"samples\": 12, "
                        "\"truncated\": 3, \"command\": \"app 'two "
                        "words'\", \"functions\""));
}

// A pattern is of the function, whatever stands behind its name.
TEST(Report, CallersOfAWholeNameAreFoundByLine) {
  NamedProfile profile;
  profile.Add("f < main", 1, 7);
  profile.Add("off < main", 1, 5);
  Profile& p = profile.get();
  for (Function& function : p.functions) {
    function.filename = p.strings.Intern("/src/a.c");
  }
  ReportRequest request;
  request.view = ReportView::kCallers;
  request.by_line = true;
  for (const char* pattern : {"^f$", "^f /src/a"}) {
    request.function = pattern;
    EXPECT_EQ(Rows(p, request, "       cum"),
              "       cum   cum%  callers, innermost first\n"
              "       7ns 58.33%  f /src/a.c\n"
              "       7ns 58.33%  main /src/a.c\n");
  }
}

TEST(Report, ListOfAFunctionWithoutLinesSaysSo) {
  NamedProfile profile;
  profile.Add("f < main", 1, 7);
  ReportRequest request;
  request.view = ReportView::kList;
  request.function = "^f$";
  std::ostringstream out;
  const absl::Status status = WriteReport(profile.get(), request, out);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "no lines are known of '^f$', its file has no debug information: "
            "--callers needs none");
  EXPECT_EQ(out.str(), "");
}

TEST(Report, SamplesAreChosenByLabel) {
  NamedProfile profile;
  profile.Add("run < main", 1, 70);
  profile.Add("wait < main", 1, 30);
  Profile& p = profile.get();
  const auto label = [&p](size_t sample, const char* key, const char* text) {
    const Sample of = p.sample(sample);
    const Label labels[] = {
        {.key = p.strings.Intern(key), .str = p.strings.Intern(text)}};
    p.AddSample(std::vector(of.locations.begin(), of.locations.end()),
                std::vector(of.values.begin(), of.values.end()), labels);
  };
  label(0, "state", "running");
  label(1, "state", "waiting");
  label(0, "mood", "waiting");
  ReportRequest request;
  request.filter.tag = "state=wait";
  EXPECT_EQ(Rows(p, request, "      flat"),
            "      flat  flat%   sum%        cum   cum%\n"
            "      30ns 11.11% 11.11%       30ns 11.11%  wait\n"
            "         0     0% 11.11%       30ns 11.11%  main\n");
  for (const char* bad : {"waiting", "=x", "state=("}) {
    request.filter.tag = bad;
    std::ostringstream out;
    EXPECT_EQ(WriteReport(p, request, out).code(),
              absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

TEST(Report, WhatALimitHidesIsSummedUp) {
  NamedProfile profile;
  for (int i = 1; i <= 4; ++i) {
    profile.Add("f" + std::to_string(i) + " < main", 1, 10 * i);
  }
  ReportRequest request;
  request.style.rows = 2;
  EXPECT_THAT(Report(profile.get(), request),
              HasSubstr("  f3\n... and 3 more, 30ns (30.00%): --nodecount 0 "
                        "shows all\n"));
  request.view = ReportView::kTree;
  EXPECT_THAT(Report(profile.get(), request),
              HasSubstr("+ f4\n... and 3 more, 60ns (60.00%): --nodecount 0 "
                        "shows all\n"));
  request.style.rows = 5;
  EXPECT_THAT(Report(profile.get(), request), testing::EndsWith("+ f1\n"));
}

TEST(Report, DeepLevelsHaveTheirNumber) {
  NamedProfile profile;
  std::string deep = "f0";
  for (int i = 0; i < 30; ++i) {
    profile.Add("g" + std::to_string(i) + " < " + deep, 1, 1000);
    deep = "f" + std::to_string(i + 1) + " < " + deep;
  }
  profile.Add(deep, 1, 1000);
  ReportRequest request;
  request.view = ReportView::kTree;
  const std::string text = Report(profile.get(), request);
  EXPECT_THAT(text, HasSubstr("[29] "));
  EXPECT_THAT(text, testing::Not(HasSubstr("| | | | | | | | | | | | | ")));
}

TEST(Report, ListShowsTheLinesOfAFunction) {
  const std::string source = TempPath("source.c");
  std::string text;
  for (int i = 1; i <= 40; ++i) text += "\tline " + std::to_string(i) + "\n";
  WriteFileOrDie(source, text);
  NamedProfile profile;
  profile.Add("f < main", 1, 30'000'000);
  profile.Add("leaf < f < main", 1, 10'000'000);
  Profile& p = profile.get();
  p.functions[0].filename = p.strings.Intern(source);
  p.SetLines(p.locations[0], std::vector<Line>{{0, 8}});
  p.locations.push_back(p.locations[0]);
  p.SetLines(p.locations.back(), std::vector<Line>{{0, 30}});
  p.AddSample(std::vector<uint32_t>{3}, std::vector<int64_t>{1, 60'000'000},
              {});
  ReportRequest request;
  request.view = ReportView::kList;
  request.function = "^f$";
  const std::string list = Report(p, request);
  EXPECT_THAT(list, HasSubstr("Total: 100ms\nROUTINE ======================== "
                              "f in " +
                              source +
                              "\n      90ms      100ms (flat, cum)   100% of "
                              "Total\n         .          .      3:        "
                              "line 3\n"));
  EXPECT_THAT(list, HasSubstr("      30ms       40ms      8:        line 8\n"));
  EXPECT_THAT(list, HasSubstr("     13:        line 13\n       ...\n"
                              "         .          .     25:        line 25"));
  EXPECT_THAT(list, HasSubstr("      60ms       60ms     30:        line 30"));
  EXPECT_THAT(list, Not(HasSubstr("line 36")));
  std::remove(source.c_str());
  const std::string numbers = Report(p, request);
  EXPECT_THAT(numbers, HasSubstr("the source is not here"));
  EXPECT_THAT(numbers, HasSubstr("      30ms       40ms      8:\n"));
}

TEST(Report, FitsATerminal) {
  NamedProfile profile;
  std::string deep;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "space::Class" + std::to_string(i) +
                             "<std::vector<int, std::allocator<int> > >::"
                             "Member(std::string const&, int)";
    profile.Add(name + (i > 0 ? " < " + deep : ""), 1, 1'000'000);
    deep = i > 0 ? name + " < " + deep : name;
  }
  // Inlined everywhere, and here and there: their marks take the most columns.
  const std::string inlined(90, 'i');
  const std::string partial(90, 'p');
  profile.Add(inlined + "|" + partial + "|main", 1, 900'000'000);
  profile.Add(partial + " < other", 1, 800'000'000);
  for (ReportView view : {ReportView::kTop, ReportView::kTree}) {
    ReportRequest request;
    request.view = view;
    request.style = {.width = 80, .rows = 20, .is_color = false};
    const std::vector<std::string> lines =
        SplitLines(Report(profile.get(), request));
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_LE(lines.size(), 28u);
    EXPECT_THAT(lines.back(), HasSubstr("--nodecount 0 shows all"));
    if (view == ReportView::kTop) {
      EXPECT_THAT(lines, Contains(EndsWith("i (inline)")));
      EXPECT_THAT(lines, Contains(EndsWith("p (partial-inline)")));
    }
  }
}

}  // namespace
}  // namespace unspool::exporters
