#include "exporters/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;

TEST(StringTable, InternsOnceAndBeginsWithTheEmptyString) {
  StringTable table;
  EXPECT_EQ(table.Intern(""), 0u);
  const StringId a = table.Intern("a");
  const StringId b = table.Intern(std::string("b\0c", 3));
  EXPECT_EQ(table.Intern("a"), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(table[b], std::string_view("b\0c", 3));
  EXPECT_EQ(table.size(), 3u);
}

TEST(StringTable, KeepsItsViewsWhenMoved) {
  StringTable table;
  const StringId id = table.Intern("short");  // within the string object
  const std::string_view view = table[id];
  const StringTable moved = std::move(table);
  EXPECT_EQ(moved[id].data(), view.data());
}

TEST(Profile, HandsOutSamplesAsTheyWereAdded) {
  Profile profile = NewCpuProfile();
  const Label red = {profile.strings.Intern("colour"),
                     profile.strings.Intern("red"), 0, 0};
  const Label two = {profile.strings.Intern("count"), 0, 2, 0};
  profile.AddSample(std::vector<uint32_t>{5, 6, 7},
                    std::vector<int64_t>{1, 100}, std::vector{red, two});
  profile.AddSample(std::vector<uint32_t>{8}, std::vector<int64_t>{2, 200},
                    std::vector{red, two});  // the same labels: shared
  profile.AddSample({}, std::vector<int64_t>{3, 300}, std::vector{two});
  profile.AddSample(std::vector<uint32_t>{9, 9}, std::vector<int64_t>{4, 400},
                    {});

  ASSERT_EQ(profile.sample_count(), 4u);
  EXPECT_THAT(profile.sample(0).locations, ElementsAre(5, 6, 7));
  EXPECT_THAT(profile.sample(0).labels, ElementsAre(red, two));
  EXPECT_THAT(profile.sample(1).locations, ElementsAre(8));
  EXPECT_THAT(profile.sample(1).values, ElementsAre(2, 200));
  EXPECT_THAT(profile.sample(1).labels, ElementsAre(red, two));
  EXPECT_EQ(profile.sample(0).labels.data(), profile.sample(1).labels.data());
  EXPECT_THAT(profile.sample(2).locations, ElementsAre());
  EXPECT_THAT(profile.sample(2).labels, ElementsAre(two));
  EXPECT_THAT(profile.sample(3).values, ElementsAre(4, 400));
  EXPECT_THAT(profile.sample(3).labels, ElementsAre());
}

TEST(Profile, FindsSampleTypesByNameAndByDefault) {
  Profile profile = NewCpuProfile();
  EXPECT_EQ(profile.FindSampleType("samples"), 0u);
  EXPECT_EQ(profile.FindSampleType("cpu"), 1u);
  EXPECT_EQ(profile.FindSampleType(""), 1u);
  EXPECT_EQ(profile.FindSampleType("wall"), std::nullopt);
  profile.default_sample_type = profile.strings.Intern("samples");
  EXPECT_EQ(profile.FindSampleType(""), 0u);
  profile.default_sample_type = 0;
  EXPECT_EQ(profile.FindSampleType(""), 1u);  // the last, as in pprof
  profile.sample_types.clear();
  EXPECT_EQ(profile.FindSampleType(""), std::nullopt);
}

TEST(Profile, FindsCommentsByTheirWholeKey) {
  Profile profile;
  profile.comments.push_back(profile.strings.Intern("free text"));
  profile.AddComment("unspool.lost_threads", "3");
  profile.AddComment("unspool.lost", "a=b");
  EXPECT_EQ(profile.FindComment("unspool.lost"), "a=b");
  EXPECT_EQ(profile.FindComment("unspool.lost_threads"), "3");
  EXPECT_EQ(profile.FindComment("unspool"), std::nullopt);
}

}  // namespace
}  // namespace unspool::exporters
