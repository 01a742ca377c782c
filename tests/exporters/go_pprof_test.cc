// `go tool pprof` is the judge of what we write: it must read it without a
// word of warning, and its top table must be ours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/export.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kBias = 0x7f1234500000;

class GoPprofTest : public testing::Test {
 protected:
  ~GoPprofTest() override { std::remove(path_.c_str()); }

  // Standard output of `go tool pprof FLAGS FILE`; anything on standard error
  // fails the test.
  std::string Pprof(const Profile& profile, const std::string& flags) {
    EXPECT_TRUE(WritePprof(profile, path_).ok());
    const CommandResult result = RunCommand(
        "env HOME=/tmp PPROF_TMPDIR=/tmp PPROF_BINARY_PATH=/none "
        "go tool pprof " +
        flags + " " + path_);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }

  const std::string path_ = TempPath("profile.pb.gz");
};

// The lines from the table's head on.
std::vector<std::string> TableRows(std::string_view text) {
  const size_t head = text.find("      flat  flat%");
  EXPECT_NE(head, text.npos) << text;
  return head == text.npos ? std::vector<std::string>()
                           : SplitLines(text.substr(head));
}

std::vector<std::string> OurRows(const Profile& profile,
                                 std::string_view value = "") {
  std::ostringstream out;
  EXPECT_TRUE(WriteTop(profile, value, out).ok());
  return TableRows(out.str());
}

constexpr char kTop[] = "-top -nodecount=1000 -nodefraction=0 -edgefraction=0 ";

TEST_F(GoPprofTest, TopTableIsOurs) {
  const struct {
    const char* name;
    std::vector<std::pair<std::string, int64_t>> samples;  // stack, ns
  } kRows[] = {
      {"one unit",
       {{"leaf < middle < main", 300'000'000},
        {"middle < main", 500'000'000},
        {"beta < main", 70'000'000},
        {"alpha < main", 70'000'000}}},
      {"wide range of values",
       {{"big < main", 98'000'000'000},
        {"small < main", 10'000'000},
        {"smaller < main", 1'000'000},
        {"a, hundredth < main", 980'000'000}}},
      {"recursion and inlines",
       {{"f < g < f < main", 3'000'000'000},
        {"innie|outie < main", 5'000'000'000},
        {"both|outie < main", 7'000'000'000},
        {"both < main", 11'000'000'000},
        {"loop|loop < main", 13'000'000'000},
        {"x|y < x < y < x|y < main", 17'000'000'000}}},
      {"C++ names and pseudo-frames",
       {{"std::vector<int, std::allocator<int> >::at(unsigned long) < main",
         30'000'000},
        {"operator()(int) const < (anonymous namespace)::f() < main",
         20'000'000},
        {"[lost: full]", 50'000'000},
        {"f [clone .cold] < [truncated: no-cfi]", 40'000'000},
        {"libx.so+0x1230 < main", 10'000'000}}},
      {"nanoseconds", {{"f < main", 7}, {"g < main", 11}}},
      {"less than nothing", {{"f < main", -20'000'000}, {"g", 30'000'000}}},
  };
  for (const auto& [name, samples] : kRows) {
    SCOPED_TRACE(name);
    NamedProfile profile;
    for (const auto& [stack, value] : samples) profile.Add(stack, 1, value);
    EXPECT_EQ(TableRows(Pprof(profile.get(), kTop)), OurRows(profile.get()));
    EXPECT_EQ(TableRows(Pprof(profile.get(),
                              std::string(kTop) + "-sample_index=samples ")),
              OurRows(profile.get(), "samples"));
  }
}

// Samples in the program and in the library that it calls.
Profile FooProfile(const std::string& name) {
  const std::string program = ProgramPath(name);
  const std::string library = ProgramPath("lib" + name + ".so");
  Profile profile = NewCpuProfile();
  const uint64_t bias = name.ends_with("no_pie") ? 0 : kBias;
  const uint64_t library_bias = kBias + 0x10000000;
  profile.mappings.push_back(MapExecutable(profile, program, bias));
  std::vector<uint32_t> stack;
  for (const char* function : {"main_static", "main"}) {
    stack.push_back(
        AddLocation(profile, bias + SymbolAddress(program, function) + 1));
  }
  profile.mappings.push_back(MapExecutable(profile, library, library_bias));
  for (const char* function : {"foo_run", "foo_middle", "foo_leaf"}) {
    stack.insert(
        stack.begin(),
        AddLocation(profile, library_bias + SymbolAddress(library, function)));
  }
  profile.AddSample(stack, std::vector<int64_t>{1, 30'000'000}, {});
  profile.AddSample(std::span(stack).subspan(1),
                    std::vector<int64_t>{2, 50'000'000}, {});
  return profile;
}

class LayoutTest : public GoPprofTest,
                   public testing::WithParamInterface<const char*> {};

TEST_P(LayoutTest, AllIsNamedAndPprofShowsTheSame) {
  Profile profile = FooProfile(GetParam());
  Symbolize(profile, nullptr);
  const auto rows = OurRows(profile);
  EXPECT_THAT(rows,
              ElementsAre(HasSubstr("flat"), HasSubstr("  foo_middle"),
                          HasSubstr("  foo_leaf"), HasSubstr("  foo_run"),
                          HasSubstr("  main"), HasSubstr("  main_static")));
  EXPECT_EQ(TableRows(Pprof(profile, kTop)), rows);
  // Nothing having a name, pprof finds ours in the binaries by the mappings.
  EXPECT_EQ(TableRows(Pprof(FooProfile(GetParam()), kTop)), rows);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, LayoutTest,
    testing::Values("foo_bfd", "foo_bfd_one_segment", "foo_bfd_no_pie",
                    "foo_lld", "foo_lld_no_pie", "foo_lld_separate_code",
                    "foo_lld_no_rosegment"),
    [](const auto& test) { return std::string(test.param); });

TEST_F(GoPprofTest, RawListingShowsMappingsLocationsAndTypes) {
  Profile profile = FooProfile("foo_bfd");
  profile.AddComment("unspool.engine", "timer");
  Symbolize(profile, nullptr);
  const std::string raw = Pprof(profile, "-raw");
  EXPECT_THAT(raw, HasSubstr("unspool.engine=timer"));
  EXPECT_THAT(raw, HasSubstr("PeriodType: cpu nanoseconds"));
  EXPECT_THAT(raw, HasSubstr("Period: 10000000"));
  EXPECT_THAT(raw, HasSubstr("samples/count cpu/nanoseconds[dflt]"));
  EXPECT_THAT(raw, HasSubstr("foo_leaf "));
  EXPECT_THAT(raw, HasSubstr("foo.c:7 s=6"));
  EXPECT_THAT(raw, HasSubstr("libfoo_bfd.so " +
                             BuildIdByReadelf(ProgramPath("libfoo_bfd.so")) +
                             " [FN][FL][LN]"));
}

}  // namespace
}  // namespace unspool::exporters
