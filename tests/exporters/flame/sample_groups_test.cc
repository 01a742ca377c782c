#include "exporters/flame/sample_groups.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "exporters/merge.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

constexpr size_t kCpu = 1;  // index of the sample type

class ThreadedProfile {
 public:
  ThreadedProfile() : profile_(NewCpuProfile()) {}

  void Add(std::string_view thread, int64_t tid, int64_t cpu_ns,
           bool guessed = false, std::string_view state = "") {
    std::vector<Label> labels;
    if (!thread.empty()) {
      labels.push_back({.key = profile_.strings.Intern("thread"),
                        .str = profile_.strings.Intern(thread)});
    }
    if (tid != 0) {
      labels.push_back({.key = profile_.strings.Intern("tid"), .num = tid});
    }
    if (guessed) {
      labels.push_back({.key = profile_.strings.Intern("unwind"),
                        .str = profile_.strings.Intern("guessed")});
    }
    if (!state.empty()) {
      labels.push_back({.key = profile_.strings.Intern("state"),
                        .str = profile_.strings.Intern(state)});
    }
    profile_.AddSample({}, std::vector<int64_t>{1, cpu_ns}, labels);
  }

  Profile& get() { return profile_; }

 private:
  Profile profile_;
};

TEST(SampleGroups, TellWhatWaited) {
  ThreadedProfile profile;
  profile.Add("t", 1, 10, false, "running");
  profile.Add("t", 1, 20, false, "waiting");
  profile.Add("t", 1, 30, false, "running");
  const SampleGroups groups = GroupSamples(profile.get(), kCpu);
  EXPECT_EQ(groups.of_sample, (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_FALSE(groups.groups[0].waiting);
  EXPECT_TRUE(groups.groups[1].waiting);
}

TEST(SampleGroups, TellThreadsByNameAndNumber) {
  ThreadedProfile profile;
  profile.Add("worker", 11, 5);
  profile.Add("worker", 12, 5);
  profile.Add("worker", 11, 5);
  profile.Add("pool", 0, 5);
  profile.Add("", 13, 5);
  profile.Add("", 0, 5);
  const SampleGroups groups = GroupSamples(profile.get(), kCpu);
  EXPECT_EQ(groups.threads,
            (std::vector<std::string>{"worker (11)", "worker (12)", "pool",
                                      "13", ""}));
  EXPECT_EQ(groups.of_sample, (std::vector<uint32_t>{0, 1, 0, 2, 3, 4}));
}

TEST(SampleGroups, TellGuessedStacksAndTheFirstOfTwoProfiles) {
  ThreadedProfile profile;
  profile.Add("t", 1, 5);
  profile.Add("t", 1, 5, true);
  profile.Add("t", 1, -5);
  const SampleGroups groups = GroupSamples(profile.get(), kCpu);
  ASSERT_EQ(groups.groups.size(), 3u);
  EXPECT_FALSE(groups.groups[0].guessed || groups.groups[0].before);
  EXPECT_TRUE(groups.groups[1].guessed && !groups.groups[1].before);
  EXPECT_TRUE(!groups.groups[2].guessed && groups.groups[2].before);
}

TEST(SampleGroups, JoinThreadsOfOneNameInADifference) {
  ThreadedProfile before, after;
  before.Add("worker", 11, 5);
  before.Add("worker", 12, 5);
  after.Add("worker", 21, 5, true);
  const absl::StatusOr<Profile> diff = Diff(before.get(), after.get());
  ASSERT_TRUE(diff.ok());
  const SampleGroups groups = GroupSamples(*diff, kCpu);
  EXPECT_TRUE(groups.is_difference);
  EXPECT_EQ(groups.threads, std::vector<std::string>{"worker"});
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_TRUE(groups.groups[0].before && !groups.groups[0].guessed);
  EXPECT_TRUE(!groups.groups[1].before && groups.groups[1].guessed);
}

TEST(SampleGroups, TakeTheCommandWhereNoThreadIsNamed) {
  ThreadedProfile profile;
  const std::vector<Label> labels = {
      {.key = profile.get().strings.Intern("comm"),
       .str = profile.get().strings.Intern("cc1")}};
  profile.get().AddSample({}, std::vector<int64_t>{1, 5}, labels);
  EXPECT_EQ(GroupSamples(profile.get(), kCpu).threads,
            std::vector<std::string>{"cc1"});
}

TEST(SampleGroups, JoinThreadsOfOneNameWhenTheyAreMany) {
  ThreadedProfile profile;
  for (int i = 1; i <= 1000; ++i) {
    profile.Add(i % 2 == 0 ? "even" : "odd", i, i % 2 == 0 ? 5 : 7);
  }
  const SampleGroups groups = GroupSamples(profile.get(), kCpu);
  EXPECT_EQ(groups.threads, (std::vector<std::string>{"odd", "even"}));
  EXPECT_EQ(groups.groups.size(), 2u);
}

TEST(SampleGroups, JoinTheLightestWhenEvenTheNamesAreMany) {
  ThreadedProfile profile;
  for (int i = 1; i <= 1000; ++i) profile.Add("t" + std::to_string(i), i, i);
  const SampleGroups groups = GroupSamples(profile.get(), kCpu);
  ASSERT_EQ(groups.threads.size(), SampleGroups::kMaxThreads);
  EXPECT_EQ(groups.threads.front(), "t1000");
  EXPECT_EQ(groups.threads.back(), "(other threads)");
  EXPECT_EQ(groups.threads[groups.groups[groups.of_sample[0]].thread],
            "(other threads)");
}

}  // namespace
}  // namespace unspool::exporters
