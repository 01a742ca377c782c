#include "exporters/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Profile Merged(const std::vector<const Profile*>& profiles) {
  Merger merger;
  for (const Profile* profile : profiles) {
    const absl::Status status = merger.Add(*profile);
    EXPECT_TRUE(status.ok()) << status;
  }
  return merger.Take();
}

// "leaf < main" of each sample with its CPU time, "key=text" before it.
std::vector<std::pair<std::string, int64_t>> Samples(const Profile& profile) {
  std::vector<std::pair<std::string, int64_t>> samples;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    std::string text;
    for (const Label& label : sample.labels) {
      text += std::string(profile.strings[label.key]) + "=" +
              std::string(profile.strings[label.str]) + " ";
    }
    for (size_t at = 0; at < sample.locations.size(); ++at) {
      if (at > 0) text += " < ";
      for (const Line& line :
           profile.lines(profile.locations[sample.locations[at]])) {
        text += profile.strings[profile.functions[line.function].name];
      }
    }
    samples.emplace_back(text, sample.values[1]);
  }
  return samples;
}

// A profile of one sample at `address`, without a name.
Profile AtAddress(const Mapping& mapping, const std::string& file,
                  const std::string& build_id, uint64_t address) {
  Profile profile = NewCpuProfile();
  profile.mappings.push_back(mapping);
  profile.mappings[0].filename = profile.strings.Intern(file);
  profile.mappings[0].build_id = profile.strings.Intern(build_id);
  profile.locations.push_back({.address = address, .mapping = 0});
  profile.AddSample(std::vector<uint32_t>{0}, std::vector<int64_t>{1, 10}, {});
  return profile;
}

TEST(Merge, AddsEqualStacksAndKeepsOthersApart) {
  NamedProfile a, b;
  a.Add("leaf < main", 1, 100);
  a.Add("main", 1, 7);
  b.Add("leaf < main", 2, 1000);
  b.Add("other < main", 3, 40);
  const Profile sum = Merged({&a.get(), &b.get()});
  EXPECT_THAT(Samples(sum),
              ElementsAre(Pair("leaf < main", 1100), Pair("main", 7),
                          Pair("other < main", 40)));
  EXPECT_THAT(sum.sample(0).values, ElementsAre(3, 1100));
  EXPECT_EQ(sum.mappings.size(), 1u);
  EXPECT_EQ(sum.functions.size(), 3u);
}

TEST(Merge, LabelsKeepSamplesApartInWhateverOrder) {
  NamedProfile a, b;
  a.Add("f", 0, 0);  // only to have the location
  b.Add("f", 0, 0);
  for (NamedProfile* profile : {&a, &b}) {
    Profile& p = profile->get();
    const Label tid = {.key = p.strings.Intern("tid"), .num = 7};
    const Label comm = {.key = p.strings.Intern("comm"),
                        .str = p.strings.Intern("x")};
    p.AddSample(std::vector<uint32_t>{0}, std::vector<int64_t>{1, 5},
                profile == &a ? std::vector<Label>{tid, comm}
                              : std::vector<Label>{comm, tid});
  }
  EXPECT_THAT(Samples(Merged({&a.get(), &b.get()})),
              ElementsAre(Pair("f", 0), Pair(HasSubstr("comm=x"), 10)));
}

TEST(Merge, ASegmentOfABuildIsOneMappingWhereverItWas) {
  const Profile a = AtAddress({0x1234, 0x5000, 0x234}, "/bin/x", "ab", 0x2000);
  // In whole pages, elsewhere, under another name.
  const Profile b = AtAddress({0x91000, 0x95000, 0}, "/old/x", "ab", 0x92000);
  const Profile sum = Merged({&a, &b});
  ASSERT_EQ(sum.mappings.size(), 1u);
  EXPECT_EQ(sum.mappings[0].memory_start, 0x1000u);
  EXPECT_EQ(sum.mappings[0].memory_limit, 0x5000u);
  EXPECT_EQ(sum.mappings[0].file_offset, 0u);
  EXPECT_EQ(sum.strings[sum.mappings[0].filename], "/bin/x");
  ASSERT_EQ(sum.locations.size(), 1u);
  EXPECT_EQ(sum.locations[0].address, 0x2000u);
  ASSERT_EQ(sum.sample_count(), 1u);
  EXPECT_THAT(sum.sample(0).values, ElementsAre(2, 20));
}

TEST(Merge, OtherBuildsOtherSegmentsAndPseudoFilesStayApart) {
  const struct {
    const char* name;
    Mapping mapping;
    const char* file;
    const char* build_id;
    bool is_same;
  } kRows[] = {
      {"the same", {0x1000, 0x5000, 0}, "/bin/x", "ab", true},
      {"another build", {0x1000, 0x5000, 0}, "/bin/x", "cd", false},
      {"another segment", {0x1000, 0x5000, 0x9000}, "/bin/x", "ab", false},
      {"no build id", {0x1000, 0x5000, 0}, "/bin/x", "", false},
  };
  const Mapping mapping = {0x1000, 0x5000, 0};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    const Profile a = AtAddress(mapping, "/bin/x", "ab", 0x2000);
    const Profile b = AtAddress(row.mapping, row.file, row.build_id, 0x2000);
    EXPECT_EQ(Merged({&a, &b}).mappings.size(), row.is_same ? 1u : 2u);
  }
  const Mapping elsewhere = {0x11000, 0x15000, 0};
  for (const auto& [file, count] : std::vector<std::pair<std::string, size_t>>{
           {"/bin/nobuildid", 1}, {"[jit]", 2}, {"//anon", 2}, {"", 2}}) {
    SCOPED_TRACE(file);
    const Profile a = AtAddress(mapping, file, "", 0x2000);
    const Profile b = AtAddress(elsewhere, file, "", 0x12000);
    const Profile sum = Merged({&a, &b});
    EXPECT_EQ(sum.mappings.size(), count);
    EXPECT_EQ(sum.locations.size(), count);
  }
}

TEST(Merge, HeadersAreCombined) {
  Profile a = NewCpuProfile(), b = NewCpuProfile();
  a.time_ns = 500;
  b.time_ns = 300;
  a.duration_ns = 20;
  b.duration_ns = 7;
  b.period = a.period * 2;
  a.default_sample_type = 0;
  for (Profile* profile : {&a, &b}) {
    profile->AddComment("unspool.samples", profile == &a ? "40" : "2");
    profile->AddComment("unspool.engine", "timer");
    profile->AddComment("unspool.host", profile == &a ? "one" : "two");
  }
  b.AddComment("unspool.lost.full", "3");
  b.AddComment("unspool.lost", "no number");
  const Profile sum = Merged({&a, &b});
  EXPECT_EQ(sum.time_ns, 300);
  EXPECT_EQ(sum.duration_ns, 27);
  EXPECT_EQ(sum.period, b.period);
  EXPECT_EQ(sum.strings[sum.default_sample_type], "cpu");
  std::vector<std::string> comments;
  for (StringId id : sum.comments) comments.emplace_back(sum.strings[id]);
  EXPECT_THAT(comments, UnorderedElementsAre(
                            "unspool.engine=timer", "unspool.host=one",
                            "unspool.host=two", "unspool.lost=no number",
                            "unspool.samples=42", "unspool.lost.full=3"));
}

TEST(Merge, AMappingHasFunctionsOnlyIfAllItsLocationsHave) {
  Profile named = AtAddress({0x1000, 0x5000, 0}, "/bin/x", "ab", 0x2000);
  named.functions.push_back({.name = named.strings.Intern("f")});
  named.SetLines(named.locations[0], std::vector<Line>{{0, 3}});
  named.UpdateMappingFlags();
  const Profile raw = AtAddress({0x1000, 0x5000, 0}, "/bin/x", "ab", 0x3000);
  EXPECT_TRUE(Merged({&named}).mappings[0].has_functions);
  const Profile sum = Merged({&named, &raw});
  EXPECT_FALSE(sum.mappings[0].has_functions);
  EXPECT_TRUE(sum.mappings[0].has_line_numbers);
}

TEST(Merge, RefusesOtherTypesAndUnitsAndGoesOn) {
  const Profile cpu = NewCpuProfile();
  Profile wall = NewCpuProfile(), micro = NewCpuProfile(),
          fewer = NewCpuProfile(), period = NewCpuProfile();
  wall.sample_types[1].type = wall.strings.Intern("wall");
  micro.sample_types[1].unit = micro.strings.Intern("microseconds");
  fewer.sample_types.pop_back();
  period.period_type.type = period.strings.Intern("wall");
  const struct {
    const Profile& profile;
    const char* message;
  } kRows[] = {
      {wall,
       "sample types differ: samples/count, wall/nanoseconds and "
       "samples/count, cpu/nanoseconds"},
      {micro,
       "sample types differ: samples/count, cpu/microseconds and "
       "samples/count, cpu/nanoseconds"},
      {fewer,
       "sample types differ: samples/count and "
       "samples/count, cpu/nanoseconds"},
      {period, "period types differ: wall/nanoseconds and cpu/nanoseconds"},
  };
  Merger merger;
  ASSERT_TRUE(merger.Add(cpu).ok());
  for (const auto& row : kRows) {
    const absl::Status status = merger.Add(row.profile);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), row.message);
    EXPECT_FALSE(Diff(cpu, row.profile).ok());
  }
  EXPECT_TRUE(merger.Add(cpu).ok());
}

TEST(Merge, SumsEndAtTheLimits) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  NamedProfile a;
  a.Add("f", 1, kMax - 1);
  EXPECT_THAT(Samples(Merged({&a.get(), &a.get()})),
              ElementsAre(Pair("f", kMax)));
}

TEST(Diff, ScalesToTheBaseAndNegatesIt) {
  NamedProfile base, now;
  base.Add("f < main", 30, 300);
  base.Add("g < main", 10, 100);
  now.Add("f < main", 3, 1500);
  now.Add("h < main", 7, 500);
  const absl::StatusOr<Profile> diff = Diff(base.get(), now.get());
  ASSERT_TRUE(diff.ok()) << diff.status();
  EXPECT_THAT(Samples(*diff),
              ElementsAre(Pair("pprof::base=true f < main", -300),
                          Pair("pprof::base=true g < main", -100),
                          Pair("f < main", 300), Pair("h < main", 100)));
  EXPECT_THAT(diff->sample(2).values, ElementsAre(12, 300));
  EXPECT_EQ(diff->FindComment("unspool.diff.cpu"), "400 2000");
  EXPECT_EQ(diff->FindComment("unspool.diff.samples"), "40 10");
  const std::optional<DiffSums> sums = FindDiffSums(*diff, 1);
  ASSERT_TRUE(sums.has_value());
  EXPECT_EQ(sums->base, 400);
  EXPECT_EQ(sums->profile, 2000);
  const DiffBase is_base(*diff);
  EXPECT_TRUE(is_base.is_diff());
  EXPECT_TRUE(is_base.Has(diff->sample(0)));
  EXPECT_FALSE(is_base.Has(diff->sample(2)));
  EXPECT_FALSE(DiffBase(now.get()).is_diff());
}

TEST(Diff, HasNoSumsWhereTheCommentSaysNone) {
  for (const char* text : {"", "400", "400 ", "400 x", "x 400", "400 5 6"}) {
    NamedProfile profile;
    EXPECT_FALSE(FindDiffSums(profile.get(), 1).has_value());
    profile.get().AddComment("unspool.diff.cpu", text);
    EXPECT_FALSE(FindDiffSums(profile.get(), 1).has_value()) << text;
  }
}

TEST(Diff, OfAProfileWithNothingInIt) {
  NamedProfile some, none;
  some.Add("f", 3, 300);
  const absl::StatusOr<Profile> gone = Diff(some.get(), none.get());
  ASSERT_TRUE(gone.ok());
  EXPECT_THAT(Samples(*gone), ElementsAre(Pair("pprof::base=true f", -300)));
  const absl::StatusOr<Profile> come = Diff(none.get(), some.get());
  ASSERT_TRUE(come.ok());
  EXPECT_THAT(Samples(*come), ElementsAre(Pair("f", 300)));
}

}  // namespace
}  // namespace unspool::exporters
