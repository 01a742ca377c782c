#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

#include "exporters/export.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

std::string Folded(const Profile& profile, std::string_view value = "") {
  std::ostringstream out;
  const absl::Status status = WriteFolded(profile, value, out);
  EXPECT_TRUE(status.ok()) << status;
  return std::move(out).str();
}

TEST(Folded, IsRootFirstSortedAndSummed) {
  NamedProfile profile;
  profile.Add("leaf < middle < main", 1, 30);
  profile.Add("other < main", 2, 50);
  profile.Add("leaf < middle < main", 4, 70);
  profile.Add("main", 8, 110);
  profile.Add("alone", 16, 130);
  EXPECT_EQ(Folded(profile.get()),
            "alone 130\n"
            "main 110\n"
            "main;middle;leaf 100\n"
            "main;other 50\n");
  EXPECT_EQ(Folded(profile.get(), "samples"),
            "alone 16\n"
            "main 8\n"
            "main;middle;leaf 5\n"
            "main;other 2\n");
}

TEST(Folded, ShowsInlinedFramesAndRecursion) {
  NamedProfile profile;
  profile.Add("innie|middle|outie < main", 1, 30);
  profile.Add("f < f < f < main", 1, 50);
  EXPECT_EQ(Folded(profile.get()),
            "main;f;f;f 50\n"
            "main;outie;middle;innie 30\n");
}

TEST(Folded, KeepsNamesInTheirFrame) {
  NamedProfile profile;
  profile.Add("operator()(int, char) const < a;b\n\x1b[2J < main", 1, 30);
  EXPECT_EQ(Folded(profile.get()),
            "main;a:b??[2J;operator()(int, char) const 30\n");
}

TEST(Folded, CallsFramesWithoutANameByTheirFile) {
  NamedProfile profile;
  profile.Add("@/lib/libx.so.1 < @ < main", 1, 30);
  EXPECT_EQ(Folded(profile.get()), "main;<unknown>;[libx.so.1] 30\n");
}

TEST(Folded, LeavesOutWhatHasNoValueAndSurvivesAnEmptyProfile) {
  NamedProfile profile;
  EXPECT_EQ(Folded(profile.get()), "");
  profile.Add("f < main", 3, 0);
  profile.Add("", 3, 5);  // no stack: no line can show it
  EXPECT_EQ(Folded(profile.get()), "");
  EXPECT_EQ(Folded(profile.get(), "samples"), "main;f 3\n");
}

TEST(Folded, IsDeepAsTheStack) {
  NamedProfile profile;
  std::string stack = "f";
  std::string expected = "f";
  for (int i = 1; i < 20'000; ++i) {
    stack += " < f";
    expected += ";f";
  }
  profile.Add(stack, 1, 30);
  EXPECT_EQ(Folded(profile.get()), expected + " 30\n");
}

TEST(Folded, RefusesAnUnknownValue) {
  std::ostringstream out;
  const absl::Status status = WriteFolded(NamedProfile().get(), "wall", out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace unspool::exporters
