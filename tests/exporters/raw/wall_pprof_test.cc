// Recordings by the wall clock in pprof's terms.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "exporters/raw/raw_pprof.h"
#include "tests/exporters/raw/raw_pprof_fixture.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::SampleClock;
using collectors::SampleKind;
using collectors::TestImage;
using collectors::ThreadLog;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using unwind::WalkEnd;

class WallPprofTest : public RawPprofTest {
 protected:
  void SetUp() override { BeginImage(SampleClock::kWall); }

  void BeginImage(SampleClock clock) {
    collectors::ImageInfo info = TestImage();
    info.clock = clock;
    Begin(info, kApp, kLib);
  }
  void Wait(ThreadLog& log, collectors::NodeId stack, uint64_t weight_ns) {
    EXPECT_TRUE(recording_.writer().AddSample(log, SampleKind::kOffCpu, stack,
                                              weight_ns));
  }
  collectors::NodeId Stack(uint64_t address) {
    return recording_.writer().AddStack({{{address, 3, true, false}}},
                                        WalkEnd::kRoot);
  }

  // "stack state" → weight; without a state just the stack.
  static std::map<std::string, int64_t> ByState(const WrittenProfile& written) {
    std::map<std::string, int64_t> weights;
    for (int i = 0; i < written.proto().sample_size(); ++i) {
      const auto& sample = written.proto().sample(i);
      auto labels = written.Labels(i);
      weights[written.Frame(sample.location_id(0)) +
              (labels.contains("state") ? " " + labels["state"] : "")] +=
          sample.value(1);
    }
    return weights;
  }

  const std::string place_ = "/usr/bin/app+0x555500001230";
};

TEST_F(WallPprofTest, TypesAreWall) {
  const WrittenProfile written = Write();
  const auto& profile = written.proto();
  ASSERT_EQ(profile.sample_type_size(), 2);
  EXPECT_EQ(written.text(profile.sample_type(0).type()), "samples");
  EXPECT_EQ(written.text(profile.sample_type(1).type()), "wall");
  EXPECT_EQ(written.text(profile.sample_type(1).unit()), "nanoseconds");
  EXPECT_EQ(written.text(profile.default_sample_type()), "wall");
  EXPECT_EQ(written.text(profile.period_type().type()), "wall");
  EXPECT_TRUE(written.totals().is_wall);
}

TEST_F(WallPprofTest, RunningAndWaitingAreToldApart) {
  ThreadLog& ticks = recording_.AddThread(4711, "app");
  ThreadLog& waits = recording_.AddThread(4711, "app");
  recording_.Sample(ticks, {{kApp + 0x1230, 3, true, false}}, WalkEnd::kRoot, 7,
                    2);
  Wait(waits, Stack(kApp + 0x1230), 100);
  Wait(waits, Stack(kApp + 0x1230), 20);
  const WrittenProfile written = Write();
  EXPECT_THAT(ByState(written),
              UnorderedElementsAre(Pair(place_ + " running", 14),
                                   Pair(place_ + " waiting", 120)));
  EXPECT_THAT(written.Stacks(),
              UnorderedElementsAre(Pair(place_, ElementsAre(4, 134))));
  EXPECT_EQ(written.totals().samples, 4u);
  EXPECT_EQ(written.totals().weight_ns, 134u);
  EXPECT_EQ(written.totals().waiting_ns, 120u);
  // The rate is that of ticks: samples per second that a thread ran.
  EXPECT_EQ(written.Comments().at("rate"), "142857142.9");
}

TEST_F(WallPprofTest, WaitingForACpuHasNoStackAndIsNoSample) {
  ThreadLog& waits = recording_.AddThread(4711, "app");
  Wait(waits, collectors::kRunnableNode, 55);
  const WrittenProfile written = Write();
  EXPECT_THAT(ByState(written),
              UnorderedElementsAre(Pair("[runnable] waiting", 55)));
  EXPECT_THAT(written.Stacks(),
              UnorderedElementsAre(Pair("[runnable]", ElementsAre(0, 55))));
  EXPECT_EQ(written.totals().samples, 0u);
  EXPECT_EQ(written.totals().waiting_ns, 55u);
}

TEST_F(WallPprofTest, TimeWithoutAStackHasNoState) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.writer().AddUnsampled(log, 30);
  recording_.writer().AddLoss(log, collectors::LossCause::kFull, 40);
  EXPECT_THAT(ByState(Write()), UnorderedElementsAre(Pair("[unsampled]", 30),
                                                     Pair("[lost: full]", 40)));
}

TEST_F(WallPprofTest, TicksCannotBeRunnableWithoutAStack) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  EXPECT_TRUE(recording_.writer().AddSample(log, SampleKind::kCpu,
                                            collectors::kRunnableNode, 5));
  EXPECT_THAT(ByState(Write()),
              UnorderedElementsAre(Pair("[lost: unreadable]", 5)));
}

TEST_F(WallPprofTest, OfARecordingByCpuTimeWaitsAreNoPart) {
  BeginImage(SampleClock::kCpu);
  ThreadLog& log = recording_.AddThread(4712, "old");
  recording_.Sample(log, {{kApp + 0x1230, 3, true, false}}, WalkEnd::kRoot, 7);
  Wait(log, Stack(kApp + 0x1230), 100);
  // The first image has nothing; the profile is still one by the wall clock.
  const WrittenProfile written = Write();
  EXPECT_THAT(ByState(written), UnorderedElementsAre(Pair(place_, 7)));
}

}  // namespace
}  // namespace unspool::exporters
