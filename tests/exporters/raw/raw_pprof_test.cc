// What a recording means in pprof's terms, read back by protoc's code.

#include "exporters/raw/raw_pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/exporters/raw/raw_pprof_fixture.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::LossCause;
using collectors::TestImage;
using collectors::TestModule;
using collectors::ThreadLog;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using unwind::kNoModule;
using unwind::WalkEnd;

TEST_F(RawPprofTest, TypesPeriodAndTimes) {
  recording_.writer().NoteEnd(5'000'000'002 + 1'234'567, 77);
  const WrittenProfile written = Write();
  const auto& profile = written.proto();
  ASSERT_EQ(profile.sample_type_size(), 2);
  EXPECT_EQ(written.text(profile.sample_type(0).type()), "samples");
  EXPECT_EQ(written.text(profile.sample_type(0).unit()), "count");
  EXPECT_EQ(written.text(profile.sample_type(1).type()), "cpu");
  EXPECT_EQ(written.text(profile.sample_type(1).unit()), "nanoseconds");
  EXPECT_EQ(written.text(profile.default_sample_type()), "cpu");
  EXPECT_EQ(written.text(profile.period_type().type()), "cpu");
  EXPECT_EQ(written.text(profile.period_type().unit()), "nanoseconds");
  EXPECT_EQ(profile.period(), 10'000'000);
  EXPECT_EQ(profile.time_nanos(), 1'700'000'000'000'000'001);
  EXPECT_EQ(profile.duration_nanos(), 1'234'567);
}

TEST_F(RawPprofTest, DurationComesFromWhoKnowsTheEnd) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.Sample(log, {{kApp + 0x1000, 3, true, false}}, WalkEnd::kRoot, 600,
                    2);
  // Nobody does: at least as long as the busiest thread ran.
  EXPECT_EQ(Write().proto().duration_nanos(), 1200);
  // And until something recorded last.
  const uint64_t start = TestImage().start_monotonic_ns;
  recording_.writer().NoteTime(start + 7000);
  EXPECT_EQ(Write().proto().duration_nanos(), 7000);
  // The tool does.
  EXPECT_EQ(Write({.end_monotonic_ns = start + 9000}).proto().duration_nanos(),
            9000);
  // The image itself does.
  recording_.writer().NoteEnd(start + 8000, 1);
  EXPECT_EQ(Write({.end_monotonic_ns = start + 9000}).proto().duration_nanos(),
            8000);
}

TEST_F(RawPprofTest, RecordingWithoutSamplesIsAValidProfile) {
  const WrittenProfile written = Write();
  EXPECT_EQ(written.proto().sample_size(), 0);
  EXPECT_EQ(written.totals().samples, 0u);
  EXPECT_EQ(written.totals().images, 1u);
  ASSERT_EQ(written.proto().mapping_size(), 1);
  EXPECT_EQ(written.text(written.mapping(1).filename()), "/usr/bin/app");
}

TEST_F(RawPprofTest, AddressIsThePcIfExactElseOneLess) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.Sample(log,
                    {{kLib + 0x1230, 1, /*exact=*/true, false},
                     {kLib + 0x1340, 1, /*exact=*/false, false},
                     {kApp + 0x1450, 3, false, false}},
                    WalkEnd::kRoot, 30);
  EXPECT_THAT(Write().Stacks(), ElementsAre(Pair("/lib/libx.so+0x7f1200001230;"
                                                 "/lib/libx.so+0x7f120000133f;"
                                                 "/usr/bin/app+0x55550000144f",
                                                 ElementsAre(1, 30))));
}

TEST_F(RawPprofTest, MappingsAreSegmentsWithTheProgramFirst) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  unwind::Module two = TestModule(0x100000, 0x8000, 0x30, "/lib/two.so");
  two.segment_count = 2;
  two.segments[0] = {0x101000, 0x102000, 0x1000};
  two.segments[1] = {0x104000, 0x106000, 0x2400};
  ASSERT_TRUE(recording_.writer().AddModule(4, two));
  recording_.Sample(log,
                    {{0x104010, 4, true, false},
                     {0x101011, 4, false, false},
                     {kLib + 0x1340, 1, false, false}},
                    WalkEnd::kRoot, 1);
  const WrittenProfile written = Write();
  struct Row {
    const char* file;
    uint64_t start, limit, offset;
    const char* build_id;
  };
  const Row kExpected[] = {
      {"/usr/bin/app", kApp + 0x1000, kApp + 0x9000, 0x800,
       "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3"},
      {"/lib/two.so", 0x104000, 0x106000, 0x2400,
       "303132333435363738393a3b3c3d3e3f40414243"},
      {"/lib/two.so", 0x101000, 0x102000, 0x1000,
       "303132333435363738393a3b3c3d3e3f40414243"},
      {"/lib/libx.so", kLib + 0x1000, kLib + 0x5000, 0x800,
       "0b0c0d0e0f101112131415161718191a1b1c1d1e"},
  };
  ASSERT_EQ(written.proto().mapping_size(), 4);
  for (int i = 0; i < 4; ++i) {
    const auto& mapping = written.proto().mapping(i);
    EXPECT_EQ(written.text(mapping.filename()), kExpected[i].file);
    EXPECT_EQ(mapping.memory_start(), kExpected[i].start);
    EXPECT_EQ(mapping.memory_limit(), kExpected[i].limit);
    EXPECT_EQ(mapping.file_offset(), kExpected[i].offset);
    EXPECT_EQ(written.text(mapping.build_id()), kExpected[i].build_id);
    EXPECT_FALSE(mapping.has_functions());
    EXPECT_FALSE(mapping.has_filenames());
    EXPECT_FALSE(mapping.has_line_numbers());
    EXPECT_FALSE(mapping.has_inline_frames());
  }
}

TEST_F(RawPprofTest, ReturnAddressAtASegmentsStartBelongsToTheOneBefore) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  unwind::Module two = TestModule(0x100000, 0x8000, 0x30, "/lib/two.so");
  two.segment_count = 2;
  two.segments[0] = {0x101000, 0x102000, 0x1000};
  two.segments[1] = {0x102000, 0x103000, 0x5000};
  ASSERT_TRUE(recording_.writer().AddModule(4, two));
  recording_.Sample(log, {{0x102000, 4, /*exact=*/false, false}},
                    WalkEnd::kRoot, 1);
  const WrittenProfile written = Write();
  ASSERT_EQ(written.proto().location_size(), 1);
  EXPECT_EQ(written.location(1).address(), 0x101fffu);
  EXPECT_EQ(written.mapping(written.location(1).mapping_id()).file_offset(),
            0x1000u);
}

TEST_F(RawPprofTest, EachAddressIsOneLocation) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  // The same address as a leaf, and as a caller one byte further.
  recording_.Sample(log,
                    {{kApp + 0x1230, 3, /*exact=*/true, false},
                     {kApp + 0x1231, 3, /*exact=*/false, false},
                     {kApp + 0x1231, 3, /*exact=*/false, false}},
                    WalkEnd::kRoot, 1);
  const WrittenProfile written = Write();
  EXPECT_EQ(written.proto().location_size(), 1);
  EXPECT_THAT(written.proto().sample(0).location_id(), ElementsAre(1, 1, 1));
}

TEST_F(RawPprofTest, EveryAddressHasAMappingWhateverItIs) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  unwind::Module vdso =
      TestModule(0x7fff00000000, 0x2000, 0, "linux-vdso.so.1");
  vdso.is_vdso = true;
  ASSERT_TRUE(recording_.writer().AddModule(5, vdso));
  const unwind::ModuleId kUnloaded = 6;  // never recorded
  recording_.Sample(log,
                    {{~uint64_t{0}, kNoModule, true, false},
                     {0, kNoModule, true, false},
                     {0, kNoModule, false, false},
                     {0xffffffff81000000, kNoModule, true, false},
                     {0x7fff00001100, 5, true, false},
                     {0x300000, kUnloaded, true, false},
                     {kApp + 0x20, 3, true, false}},  // in no segment
                    WalkEnd::kRoot, 1);
  EXPECT_THAT(
      Write().Stacks(),
      ElementsAre(Pair("[unknown]+0xfffffffffffffffe;[unknown]+0x0;"
                       "[unknown]+0xfffffffffffffffe;"
                       "[unknown]+0xffffffff81000000;[vdso]+0x7fff00001100;"
                       "[unknown]+0x300000;[unknown]+0x555500000020",
                       ElementsAre(1, 1))));
}

TEST_F(RawPprofTest, UnknownSpansOnlyWhatItHas) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.Sample(log,
                    {{0x7000123, kNoModule, true, false},
                     {0x5000123, kNoModule, true, false}},
                    WalkEnd::kRoot, 1);
  const WrittenProfile written = Write();
  const auto& unknown = written.proto().mapping(1);
  EXPECT_EQ(unknown.memory_start(), 0x5000000u);
  EXPECT_EQ(unknown.memory_limit(), 0x7001000u);
}

TEST_F(RawPprofTest, SampleCarriesWhoItWas) {
  ThreadLog& worker = recording_.AddThread(4712, "worker");
  recording_.Sample(worker, {}, WalkEnd::kRoot, 1);
  // Nothing is known of the main thread: the process is called as its program.
  EXPECT_THAT(
      Write().Labels(0),
      UnorderedElementsAre(Pair("pid", "4711"), Pair("tid", "4712"),
                           Pair("thread", "worker"), Pair("comm", "app")));
}

TEST_F(RawPprofTest, ProcessIsCalledAsItsMainThread) {
  ThreadLog& worker = recording_.AddThread(4712, "worker");
  recording_.Sample(worker, {}, WalkEnd::kRoot, 1);
  recording_.AddThread(4711, "main-name");  // without a sample of its own
  const WrittenProfile written = Write();
  EXPECT_EQ(written.Labels(0).at("comm"), "main-name");
  EXPECT_EQ(written.totals().threads, 1u);
}

TEST_F(RawPprofTest, LossesOfProcessesWithoutRecordAreInTheTotals) {
  ThreadLog& log = recording_.AddThread(4712, "worker");
  recording_.Sample(log, {{kApp + 0x1230, 3, true, false}}, WalkEnd::kRoot, 7);
  std::vector<uint8_t> bytes = recording_.Bytes();
  const collectors::LossCounter lost = {.count = 4, .weight = 50};
  memcpy(bytes.data() + collectors::kSpoolPageSize +
             offsetof(collectors::SpoolControl, lost),
         &lost, sizeof(lost));
  const WrittenProfile written(bytes, {});
  ExpectValid(written);
  EXPECT_THAT(written.Stacks(),
              UnorderedElementsAre(
                  Pair("/usr/bin/app+0x555500001230", ElementsAre(1, 7)),
                  Pair("[lost: full]", ElementsAre(0, 50))));
  EXPECT_THAT(written.Labels(1), ElementsAre());
  EXPECT_EQ(written.totals().lost, 4u);
}

TEST_F(RawPprofTest, GuessedFramesLabelTheirSamples) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.Sample(log,
                    {{kApp + 0x1230, 3, true, false},
                     {kApp + 0x1240, 3, false, /*guessed=*/true}},
                    WalkEnd::kRoot, 3);
  recording_.Sample(log, {{kApp + 0x1250, 3, true, false}}, WalkEnd::kRoot, 5);
  const WrittenProfile written = Write();
  for (int i = 0; i < 2; ++i) {
    const bool is_guessed = written.proto().sample(i).value(1) == 3;
    EXPECT_EQ(written.Labels(i).count("unwind"), is_guessed ? 1u : 0u);
    if (is_guessed) {
      EXPECT_EQ(written.Labels(i).at("unwind"), "guessed");
    }
  }
}

TEST_F(RawPprofTest, StackThatIsNotWholeSaysSoOutermost) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  const struct {
    WalkEnd end;
    const char* name;
    int count;
  } kRows[] = {{WalkEnd::kRoot, nullptr, 1},
               {WalkEnd::kDepth, "depth", 2},
               {WalkEnd::kNoCfi, "no-cfi", 3},
               {WalkEnd::kBadMemory, "bad-memory", 4},
               {WalkEnd::kLoop, "loop", 5},
               {WalkEnd::kBadCfi, "bad-cfi", 6},
               {WalkEnd::kNoRegister, "no-register", 7}};
  for (const auto& row : kRows) {
    recording_.Sample(log, {{kApp + 0x1230, 3, true, false}}, row.end, 10,
                      row.count);
  }
  const WrittenProfile written = Write();
  const std::string leaf = "/usr/bin/app+0x555500001230";
  const auto stacks = written.Stacks();
  const auto comments = written.Comments();
  EXPECT_EQ(stacks.size(), std::size(kRows));
  for (const auto& row : kRows) {
    const std::string stack =
        row.name == nullptr
            ? leaf
            : leaf + ";[truncated: " + std::string(row.name) + "]";
    ASSERT_TRUE(stacks.contains(stack)) << stack;
    EXPECT_THAT(stacks.at(stack), ElementsAre(row.count, 10 * row.count));
    if (row.name == nullptr) continue;
    EXPECT_EQ(comments.at(std::string("truncated.") + row.name),
              std::to_string(row.count));
  }
  EXPECT_EQ(written.totals().samples, 28u);
  EXPECT_EQ(written.totals().truncated, 27u);
  EXPECT_EQ(comments.at("truncated"), "27");
  EXPECT_EQ(comments.at("samples"), "28");
}

TEST_F(RawPprofTest, LossesWeighButAreNoSamples) {
  ThreadLog& log = recording_.AddThread(4712, "worker");
  recording_.Sample(log, {{kApp + 0x1230, 3, true, false}}, WalkEnd::kRoot, 7);
  recording_.writer().AddLoss(log, LossCause::kFull, 100);
  recording_.writer().AddLoss(log, LossCause::kFull, 20);
  recording_.writer().AddLoss(log, LossCause::kReentry, 0);
  const WrittenProfile written = Write();
  EXPECT_THAT(written.Stacks(),
              UnorderedElementsAre(
                  Pair("/usr/bin/app+0x555500001230", ElementsAre(1, 7)),
                  Pair("[lost: full]", ElementsAre(0, 120))));
  EXPECT_EQ(written.Labels(1).at("thread"), "worker");
  EXPECT_EQ(written.totals().lost, 3u);
  EXPECT_EQ(written.totals().lost_ns, 120u);
  EXPECT_STREQ(written.totals().lost_cause, "full");
  EXPECT_EQ(written.totals().weight_ns, 127u);
  EXPECT_THAT(written.Comments(),
              IsSupersetOf({Pair("lost", "3"), Pair("lost.full", "2"),
                            Pair("lost.reentry", "1")}));
}

TEST_F(RawPprofTest, TimeThatNoSampleStandsForIsShownAsSuch) {
  ThreadLog& log = recording_.AddThread(4712, "worker");
  recording_.Sample(log, {{kApp + 0x1230, 3, true, false}}, WalkEnd::kRoot, 7);
  recording_.writer().AddUnsampled(log, 300);
  recording_.writer().AddUnsampled(log, 11);
  const WrittenProfile written = Write();
  EXPECT_THAT(written.Stacks(),
              UnorderedElementsAre(
                  Pair("/usr/bin/app+0x555500001230", ElementsAre(1, 7)),
                  Pair("[unsampled]", ElementsAre(0, 311))));
  EXPECT_EQ(written.totals().samples, 1u);
  EXPECT_EQ(written.totals().lost, 0u);
  EXPECT_EQ(written.totals().weight_ns, 318u);
}

TEST_F(RawPprofTest, EveryCauseOfLossHasItsName) {
  const struct {
    LossCause cause;
    const char* name;
  } kRows[] = {{LossCause::kFull, "[lost: full]"},
               {LossCause::kReentry, "[lost: reentry]"},
               {LossCause::kBlocked, "[lost: blocked]"},
               {LossCause::kNoStack, "[lost: no-stack]"},
               {LossCause::kNoTimer, "[lost: no-timer]"}};
  static_assert(std::size(kRows) == collectors::kLossCauseCount);
  ThreadLog& log = recording_.AddThread(4712, "worker");
  int64_t weight = 1;
  for (const auto& row : kRows) {
    recording_.writer().AddLoss(log, row.cause, weight *= 3);
  }
  const auto stacks = Write().Stacks();
  weight = 1;
  for (const auto& row : kRows) {
    ASSERT_TRUE(stacks.contains(row.name)) << row.name;
    EXPECT_THAT(stacks.at(row.name), ElementsAre(0, weight *= 3));
  }
}

}  // namespace
}  // namespace unspool::exporters
