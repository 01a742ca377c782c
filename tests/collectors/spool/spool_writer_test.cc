// What is written comes back: one image, one thread.

#include "collectors/spool/spool_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectors/spool/spool_writer_fixture.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using ::testing::ElementsAre;
using unwind::Frame;
using unwind::WalkEnd;

TEST_F(SpoolWriterTest, ImageComesBackWithAllItsFacts) {
  writer_.NoteEnd(6'000'000'003, 900'000'004);
  const ImageView image = Read().image(0);
  EXPECT_EQ(image.index, 0u);
  EXPECT_EQ(image.pid, 4711);
  EXPECT_EQ(image.parent_pid, 4700);
  EXPECT_EQ(image.pid_namespace, 4026531836u);
  EXPECT_EQ(image.start_realtime_ns, 1'700'000'000'000'000'001u);
  EXPECT_EQ(image.start_monotonic_ns, 5'000'000'002u);
  EXPECT_EQ(image.period_ns, 10'000'000u);
  EXPECT_EQ(image.clock, SampleClock::kCpu);
  EXPECT_STREQ(image.comm.data(), "");
  EXPECT_EQ(image.end_monotonic_ns, 6'000'000'003u);
  EXPECT_EQ(image.end_cpu_ns, 900'000'004u);
  EXPECT_EQ(ToString(image.engine), "timer");
  EXPECT_EQ(ToString(image.executable), "/usr/bin/app");
  EXPECT_EQ(ToString(image.command_line),
            std::string("app\0--name\0two words\0", 21));
  char host[256];
  ASSERT_EQ(gethostname(host, sizeof(host)), 0);
  EXPECT_EQ(ToString(image.hostname), host);
}

TEST_F(SpoolWriterTest, LastNoteOfTheEndCounts) {
  writer_.NoteEnd(1, 2);
  writer_.NoteEnd(30, 40);
  const ImageView image = Read().image(0);
  EXPECT_EQ(image.end_monotonic_ns, 30u);
  EXPECT_EQ(image.end_cpu_ns, 40u);
}

TEST_F(SpoolWriterTest, RelativePathsAreBelowThePresentDirectory) {
  ModuleSource source;
  // With its NUL, as getcwd(2) has it.
  source.directory = [](char* out, size_t room) -> long {
    EXPECT_GE(room, 4095u);
    memcpy(out, "/here", 6);
    return 6;
  };
  writer_.SetModules(source);
  const std::string long_path(4090, 'p');
  const char* paths[] = {"./lib/x.so", "/lib/y.so", "", long_path.c_str()};
  unwind::ModuleId id = kLib;
  for (const char* path : paths) {
    ++id;
    writer_.AddModule(id, TestModule(id << 20, 0x5000, 1, path));
  }
  source.directory = [](char*, size_t) -> long { return -ERANGE; };
  writer_.SetModules(source);
  ++id;
  writer_.AddModule(id, TestModule(id << 20, 0x5000, 1, "far/z.so"));
  std::vector<std::string> read;
  Read().ForEachModule(0, [&](const ModuleView& m) {
    if (m.id > kLib) read.push_back(ToString(m.path));
  });
  EXPECT_EQ(read, (std::vector<std::string>{"/here/./lib/x.so", "/lib/y.so", "",
                                            long_path, "far/z.so"}));
}

TEST_F(SpoolWriterTest, CountsModulesForThoseWhoWait) {
  const auto count = [this] {
    const uint8_t* control = writer_.bytes().data() + kSpoolPageSize;
    return reinterpret_cast<const SpoolControl*>(control)->modules;
  };
  const uint32_t before = count();
  const unwind::Module module = TestModule(9 << 20, 0x5000, 1, "/lib/y.so");
  writer_.AddModule(9, module);
  EXPECT_EQ(count(), before + 1);
  writer_.AddModule(9, module);
  EXPECT_EQ(count(), before + 1);
}

TEST_F(SpoolWriterTest, ModulesComeBackOnceEach) {
  // Again: as a handler does that sees the module for the second time.
  ASSERT_TRUE(writer_.AddModule(
      kLib, TestModule(kLibBias, 0x5000, 0x60, "/lib/libx.so")));
  std::vector<ModuleView> modules;
  Read().ForEachModule(0, [&](const ModuleView& m) { modules.push_back(m); });
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0].id, kApp);
  EXPECT_EQ(modules[0].flags, kModuleMain);
  const ModuleView& lib = modules[1];
  EXPECT_EQ(lib.id, kLib);
  EXPECT_EQ(lib.flags, 0);
  EXPECT_EQ(lib.start, kLibBias);
  EXPECT_EQ(lib.end, kLibBias + 0x5000);
  EXPECT_EQ(lib.bias, kLibBias);
  EXPECT_EQ(ToString(lib.path), "/lib/libx.so");
  ASSERT_EQ(lib.build_id.size(), 20u);
  EXPECT_EQ(lib.build_id[0], 0x60);
  EXPECT_EQ(lib.build_id[19], 0x60 + 19);
  ASSERT_EQ(lib.segment_count, 1);
  EXPECT_EQ(lib.segments[0].start, kLibBias + 0x1000);
  EXPECT_EQ(lib.segments[0].end, kLibBias + 0x5000);
  EXPECT_EQ(lib.segments[0].file_offset, 0x800u);
}

TEST_F(SpoolWriterTest, ManyModulesSpanChunksAndKeepLongPaths) {
  const std::string long_path(6000, 'p');
  for (unwind::ModuleId id = 100; id < 300; ++id) {
    unwind::Module module = TestModule(id << 20, 0x4000, 1, "/lib/some.so");
    if (id == 200) module.path = long_path.c_str();
    module.segment_count = 1 + id % unwind::Module::kMaxSegments;
    ASSERT_TRUE(writer_.AddModule(id, module));
  }
  std::map<unwind::ModuleId, ModuleView> modules;
  Read().ForEachModule(0, [&](const ModuleView& m) { modules[m.id] = m; });
  EXPECT_EQ(modules.size(), 202u);
  for (unwind::ModuleId id = 100; id < 300; ++id) {
    EXPECT_EQ(modules[id].bias, uint64_t{id} << 20);
    EXPECT_EQ(modules[id].segment_count, 1 + id % unwind::Module::kMaxSegments);
    EXPECT_EQ(modules[id].path.size(), id == 200 ? 4095u : 12u);
  }
}

TEST_F(SpoolWriterTest, ModuleIdsBeyondTheTableAreRefused) {
  EXPECT_FALSE(writer_.AddModule(kMaxModules,
                                 TestModule(0x1000, 0x4000, 1, "/lib/y.so")));
  EXPECT_TRUE(writer_.AddModule(kMaxModules - 1,
                                TestModule(0x1000, 0x4000, 1, "/lib/y.so")));
}

TEST_F(SpoolWriterTest, NodesAreRelativeToTheirModuleAndKeepTheirFlags) {
  constexpr uint64_t kNowhere = 0x1234567890;
  const unwind::ModuleId kNotRecorded = 9;
  ASSERT_TRUE(Sample({{kLibBias + 0x1110, kLib, /*exact=*/true, false},
                      {kAppBias + 0x1220, kApp, false, /*guessed=*/true},
                      {kNowhere, unwind::kNoModule, false, false},
                      {kNowhere + 1, kNotRecorded, false, false}},
                     WalkEnd::kBadMemory, 3));
  const SpoolReader& reader = Read();
  std::vector<CounterView> counters;
  reader.ForEachThread(0, [&](const ThreadView& thread) {
    reader.ForEachCounter(0, thread,
                          [&](const CounterView& c) { counters.push_back(c); });
  });
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_EQ(counters[0].kind, SampleKind::kCpu);
  EXPECT_EQ(counters[0].label_set, 0u);
  struct Row {
    uint64_t offset;
    unwind::ModuleId module;
    bool exact;
    bool guessed;
  };
  const Row kExpected[] = {{0x1110, kLib, true, false},
                           {0x1220, kApp, false, true},
                           {kNowhere, unwind::kNoModule, false, false},
                           {kNowhere + 1, unwind::kNoModule, false, false}};
  uint32_t id = counters[0].stack;
  for (const Row& row : kExpected) {
    NodeView node;
    ASSERT_TRUE(reader.NodeChunkOf(0, id).Find(id, &node));
    EXPECT_EQ(node.offset, row.offset);
    EXPECT_EQ(node.module, row.module);
    EXPECT_EQ(node.exact, row.exact);
    EXPECT_EQ(node.guessed, row.guessed);
    id = node.parent;
  }
  EXPECT_EQ(id, RootNode(WalkEnd::kBadMemory));
}

TEST_F(SpoolWriterTest, ModuleBelowItsLinkedAddressHasANegativeBias) {
  const uint64_t bias = -uint64_t{0x7000};
  ASSERT_TRUE(writer_.AddModule(30, TestModule(bias, 0x4000, 1, "/lib/z.so")));
  ASSERT_TRUE(Sample({{0x1000, 30, true, false}}, WalkEnd::kRoot, 1));
  EXPECT_THAT(
      ReadSamples(Read(), 0)[4712],
      ElementsAre(ReadSample{{0x8000}, RootNode(WalkEnd::kRoot), 1, 1}));
}

TEST_F(SpoolWriterTest, SamplesOfOneStackAddUp) {
  const std::vector<Frame> frames = {{0x30, unwind::kNoModule, true, false},
                                     {0x20, unwind::kNoModule, false, false}};
  const NodeId stack = writer_.AddStack(frames, WalkEnd::kRoot);
  EXPECT_EQ(writer_.AddStack(frames, WalkEnd::kRoot), stack);
  ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, stack, 100));
  ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, stack, 7));
  EXPECT_THAT(
      ReadSamples(Read(), 0)[4712],
      ElementsAre(ReadSample{{0x30, 0x20}, RootNode(WalkEnd::kRoot), 2, 107}));
}

TEST_F(SpoolWriterTest, StacksThatDifferInOneThingAreDifferent) {
  const Frame kBase = {0x30, unwind::kNoModule, false, false};
  const struct {
    std::vector<Frame> frames;
    WalkEnd end;
  } kRows[] = {
      {{kBase}, WalkEnd::kRoot},
      {{kBase}, WalkEnd::kDepth},
      {{kBase, kBase}, WalkEnd::kRoot},
      {{{0x31, unwind::kNoModule, false, false}}, WalkEnd::kRoot},
      {{{0x30, unwind::kNoModule, true, false}}, WalkEnd::kRoot},
      {{{0x30, unwind::kNoModule, false, true}}, WalkEnd::kRoot},
      {{{kAppBias + 0x30, kApp, false, false}}, WalkEnd::kRoot},
      {{{kLibBias + 0x30, kLib, false, false}}, WalkEnd::kRoot},
      {{}, WalkEnd::kRoot},
      {{}, WalkEnd::kBadCfi},
  };
  std::vector<NodeId> ids;
  for (const auto& row : kRows) {
    ids.push_back(writer_.AddStack(row.frames, row.end));
    EXPECT_NE(ids.back(), 0u);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST_F(SpoolWriterTest, KindsOfOneStackAreCountedApart) {
  const NodeId stack = writer_.AddStack({}, WalkEnd::kRoot);
  ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kCpu, stack, 5));
  ASSERT_TRUE(writer_.AddSample(log_, SampleKind::kWall, stack, 11));
  std::map<SampleKind, uint64_t> weights;
  const SpoolReader& reader = Read();
  reader.ForEachThread(0, [&](const ThreadView& thread) {
    reader.ForEachCounter(0, thread, [&](const CounterView& counter) {
      weights[counter.kind] += counter.weight;
    });
  });
  EXPECT_EQ(weights, (std::map<SampleKind, uint64_t>{{SampleKind::kCpu, 5},
                                                     {SampleKind::kWall, 11}}));
}

TEST_F(SpoolWriterTest, StackWithoutRoomIsNotASample) {
  EXPECT_FALSE(writer_.AddSample(log_, SampleKind::kCpu, 0, 5));
}

// Several node chunks, several counter levels, and every stack found again.
TEST_F(SpoolWriterTest, HundredThousandStacksAreKeptApart) {
  constexpr uint64_t kStacks = 100'000;
  for (int round = 1; round <= 2; ++round) {
    for (uint64_t i = 0; i < kStacks; ++i) {
      ASSERT_TRUE(Sample({{i, unwind::kNoModule, true, false},
                          {i / 100, unwind::kNoModule, false, false}},
                         WalkEnd::kRoot, i + 1));
    }
  }
  const auto samples = ReadSamples(Read(), 0)[4712];
  ASSERT_EQ(samples.size(), kStacks);
  std::vector<bool> seen(kStacks);
  for (const ReadSample& sample : samples) {
    ASSERT_EQ(sample.offsets.size(), 2u);
    const uint64_t i = sample.offsets[0];
    EXPECT_EQ(sample.offsets[1], i / 100);
    EXPECT_EQ(sample.count, 2u);
    EXPECT_EQ(sample.weight, 2 * (i + 1));
    EXPECT_FALSE(seen[i]);
    seen[i] = true;
  }
}

TEST_F(SpoolWriterTest, ThreadHasItsLastNameCutToFifteenBytes) {
  const struct {
    const char* name;
    const char* expected;
  } kRows[] = {{"worker", "worker"},
               {"123456789012345", "123456789012345"},
               {"1234567890123456", "123456789012345"},
               {"", ""}};
  ASSERT_TRUE(Sample({}, WalkEnd::kRoot, 1));
  for (const auto& row : kRows) {
    writer_.SetThreadName(log_, row.name);
    Read().ForEachThread(0, [&](const ThreadView& thread) {
      EXPECT_STREQ(thread.name.data(), row.expected);
    });
  }
}

TEST_F(SpoolWriterTest, ThreadTakesRoomWithItsFirstSample) {
  const size_t before = spool_.Bytes().size();
  ThreadLog idle;
  writer_.AddThread(idle, 4713, "idle");
  writer_.SetThreadName(idle, "idler");
  EXPECT_EQ(spool_.Bytes().size(), before);
  EXPECT_TRUE(ReadSamples(Read(), 0).empty());
}

TEST_F(SpoolWriterTest, LossesAreCountedByCauseAndThread) {
  ThreadLog other;
  writer_.AddThread(other, 4713, "other");
  writer_.AddLoss(log_, LossCause::kReentry, 3);
  writer_.AddLoss(log_, LossCause::kReentry, 4);
  writer_.AddLoss(other, LossCause::kBlocked, 50);
  std::map<int32_t, LossArray> losses;
  Read().ForEachThread(
      0, [&](const ThreadView& thread) { losses[thread.tid] = thread.losses; });
  ASSERT_EQ(losses.size(), 2u);
  const auto reentry = static_cast<size_t>(LossCause::kReentry);
  const auto blocked = static_cast<size_t>(LossCause::kBlocked);
  EXPECT_EQ(losses[4712][reentry].count, 2u);
  EXPECT_EQ(losses[4712][reentry].weight, 7u);
  EXPECT_EQ(losses[4712][blocked].count, 0u);
  EXPECT_EQ(losses[4713][blocked].count, 1u);
  EXPECT_EQ(losses[4713][blocked].weight, 50u);
}

TEST_F(SpoolWriterTest, UnsampledTimeAddsUpInItsThread) {
  ThreadLog other;
  writer_.AddThread(other, 4713, "other");
  writer_.AddUnsampled(log_, 30);
  writer_.AddUnsampled(log_, 4);
  writer_.AddLoss(other, LossCause::kFull, 500);
  std::map<int32_t, uint64_t> unsampled_ns;
  Read().ForEachThread(0, [&](const ThreadView& thread) {
    unsampled_ns[thread.tid] = thread.unsampled_ns;
  });
  EXPECT_EQ(unsampled_ns, (std::map<int32_t, uint64_t>{{4712, 34}, {4713, 0}}));
}

TEST_F(SpoolWriterTest, SamplingIsWantedUntilTheToolSaysStop) {
  EXPECT_TRUE(writer_.sampling_wanted());
  const uint32_t stop = 0;
  ASSERT_EQ(pwrite(spool_.fd(), &stop, sizeof(stop), kSpoolPageSize),
            ssize_t{sizeof(stop)});
  EXPECT_FALSE(writer_.sampling_wanted());
}

// One word for all processes: it is written a few times a second.
TEST_F(SpoolWriterTest, TheTimeIsNotedByTenthsOfASecond) {
  EXPECT_EQ(Read().seen_monotonic_ns(), 0u);
  const std::pair<uint64_t, uint64_t> rows[] = {{5'000'000'000, 5'000'000'000},
                                                {5'099'999'999, 5'000'000'000},
                                                {5'100'000'000, 5'100'000'000},
                                                {4'000'000'000, 5'100'000'000}};
  for (const auto& [now, noted] : rows) {
    writer_.NoteTime(now);
    EXPECT_EQ(Read().seen_monotonic_ns(), noted);
  }
}

TEST(SpoolWriter, WantsNoSamplesWhileNotOpen) {
  SpoolWriter writer;
  EXPECT_FALSE(writer.sampling_wanted());
}

}  // namespace
}  // namespace unspool::collectors
