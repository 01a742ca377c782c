// When an image's record and its modules come into the spool.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using ::testing::ElementsAre;
using unwind::Frame;
using unwind::WalkEnd;

// Of a process with a program, and libraries under the ids that follow.
class Modules {
 public:
  Modules() {
    modules_.push_back(TestModule(0x10000, 0x9000, 1, "/usr/bin/app"));
    modules_[0].is_main = true;
    modules_.push_back(TestModule(0x40000, 0x9000, 2, "/lib/liba.so"));
    modules_.push_back(TestModule(0x80000, 0x9000, 3, "/lib/libb.so"));
  }

  ModuleSource source() { return {&Modules::Find, this}; }

 private:
  static const unwind::Module* Find(void* self, unwind::ModuleId id) {
    const auto& modules = static_cast<Modules*>(self)->modules_;
    return id < modules.size() ? &modules[id] : nullptr;
  }
  std::vector<unwind::Module> modules_;
};

std::vector<std::string> ModulesOf(const SpoolReader& reader, size_t image) {
  std::vector<std::string> paths;
  reader.ForEachModule(image, [&](const ModuleView& module) {
    paths.push_back(ToString(module.path));
  });
  return paths;
}

class SpoolImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(first_.Open(spool_.fd(), TestImage(1)), SpoolStatus::kOk);
    first_.SetModules(modules_.source());
    ASSERT_EQ(second_.Open(spool_.fd(), TestImage(2)), SpoolStatus::kOk);
    second_.SetModules(modules_.source());
    second_.AddThread(log_, 22, "worker");
  }
  void TearDown() override {
    first_.Close();
    second_.Close();
  }

  Modules modules_;
  TestSpool spool_;
  SpoolWriter first_;
  SpoolWriter second_;
  ThreadLog log_;
};

TEST_F(SpoolImageTest, FirstImageIsThereFromTheStartWithItsProgram) {
  const std::vector<uint8_t> bytes = spool_.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  ASSERT_EQ(reader.image_count(), 1u);
  EXPECT_EQ(reader.image(0).pid, 1);
  EXPECT_THAT(ModulesOf(reader, 0), ElementsAre("/usr/bin/app"));
}

TEST_F(SpoolImageTest, StringsNeedNotOutliveTheStart) {
  SpoolWriter third;
  {
    std::string executable = "/usr/bin/third";
    std::string command_line("third\0-x\0", 9);
    std::string engine = "perf";
    ImageInfo info = TestImage(3);
    info.executable = executable.c_str();
    info.engine = engine.c_str();
    info.command_line = command_line;
    ASSERT_EQ(third.Open(spool_.fd(), info), SpoolStatus::kOk);
    executable.assign(executable.size(), '?');
    command_line.assign(command_line.size(), '?');
    engine.assign(engine.size(), '?');
  }
  third.SetModules(modules_.source());
  ThreadLog log;
  third.AddThread(log, 33, "worker");
  ASSERT_TRUE(third.AddSample(log, SampleKind::kCpu,
                              third.AddStack({}, WalkEnd::kNoCfi), 1));
  third.Close();
  const std::vector<uint8_t> bytes = spool_.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  ASSERT_EQ(reader.image_count(), 2u);
  EXPECT_EQ(ToString(reader.image(1).executable), "/usr/bin/third");
  EXPECT_EQ(ToString(reader.image(1).engine), "perf");
  EXPECT_EQ(ToString(reader.image(1).command_line),
            std::string("third\0-x\0", 9));
}

TEST_F(SpoolImageTest, AnotherImageThatRecordsNothingTakesNothing) {
  const size_t before = spool_.Bytes().size();
  SpoolWriter third;
  ASSERT_EQ(third.Open(spool_.fd(), TestImage(3)), SpoolStatus::kOk);
  third.SetModules(modules_.source());
  third.SetThreadName(log_, "renamed");
  third.NoteEnd(5, 6);
  EXPECT_FALSE(third.has_recorded());
  third.Close();
  EXPECT_EQ(spool_.Bytes().size(), before);
  // Its number was given out all the same.
  SpoolControl control;
  ASSERT_EQ(pread(spool_.fd(), &control, sizeof(control), kSpoolPageSize),
            ssize_t{sizeof(control)});
  EXPECT_EQ(control.next_image, 3u);
}

TEST_F(SpoolImageTest, EachThingIsSaidByOneImage) {
  SpoolWriter other;
  ASSERT_EQ(other.Open(spool_.fd(), TestImage(3)), SpoolStatus::kOk);
  EXPECT_TRUE(other.IsFirstToSay(7));
  EXPECT_FALSE(other.IsFirstToSay(7));
  EXPECT_TRUE(other.IsFirstToSay(6));
  SpoolWriter third;
  ASSERT_EQ(third.Open(spool_.fd(), TestImage(4)), SpoolStatus::kOk);
  EXPECT_FALSE(third.IsFirstToSay(7));
  EXPECT_TRUE(third.IsFirstToSay(31));
}

TEST_F(SpoolImageTest, WhateverIsRecordedFirstBringsTheImageAndItsProgram) {
  const struct {
    const char* name;
    std::function<void(SpoolWriter&, ThreadLog&)> record;
  } kRows[] = {
      {"sample",
       [](SpoolWriter& writer, ThreadLog& log) {
         const Frame frames[] = {{0x77, unwind::kNoModule, true, false}};
         EXPECT_TRUE(writer.AddSample(log, SampleKind::kCpu,
                                      writer.AddStack(frames, WalkEnd::kRoot),
                                      1));
       }},
      {"loss",
       [](SpoolWriter& writer, ThreadLog& log) {
         writer.AddLoss(log, LossCause::kBlocked, 1);
       }},
      {"unsampled", [](SpoolWriter& writer,
                       ThreadLog& log) { writer.AddUnsampled(log, 1); }},
  };
  for (const auto& row : kRows) {
    TestSpool spool;
    SpoolWriter first;
    SpoolWriter second;
    ASSERT_EQ(first.Open(spool.fd(), TestImage(1)), SpoolStatus::kOk);
    ASSERT_EQ(second.Open(spool.fd(), TestImage(2)), SpoolStatus::kOk);
    second.SetModules(modules_.source());
    ThreadLog log;
    second.AddThread(log, 22, "worker");
    row.record(second, log);
    EXPECT_TRUE(second.has_recorded()) << row.name;
    second.NoteEnd(5, 6);
    const std::vector<uint8_t> bytes = spool.Bytes();
    SpoolReader reader;
    ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    ASSERT_EQ(reader.image_count(), 2u) << row.name;
    EXPECT_EQ(reader.image(1).pid, 2) << row.name;
    EXPECT_EQ(reader.image(1).end_cpu_ns, 6u) << row.name;
    EXPECT_EQ(ToString(reader.image(1).executable), "/usr/bin/app");
    EXPECT_THAT(ModulesOf(reader, 1), ElementsAre("/usr/bin/app")) << row.name;
    first.Close();
    second.Close();
  }
}

TEST_F(SpoolImageTest, ModuleIsRecordedWithItsFirstFrameAndOnce) {
  const Frame frames[] = {{0x81234, 2, true, false},
                          {0x99, 7, false, false},
                          {0x11111, 0, false, false}};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(second_.AddSample(log_, SampleKind::kCpu,
                                  second_.AddStack(frames, WalkEnd::kRoot), 1));
  }
  const std::vector<uint8_t> bytes = spool_.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_THAT(ModulesOf(reader, 1),
              ElementsAre("/usr/bin/app", "/lib/libb.so"));
  // Of a module that the source does not know the address is kept.
  EXPECT_THAT(ReadSamples(reader, 1)[22].at(0).offsets,
              ElementsAre(0x1234, 0x99, 0x1111));
}

TEST(SpoolImage, NameAtStartIsKept) {
  TestSpool spool;
  SpoolWriter writer;
  ImageInfo info = TestImage();
  strcpy(info.comm, "two words");
  ASSERT_EQ(writer.Open(spool.fd(), info), SpoolStatus::kOk);
  writer.Close();
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_STREQ(reader.image(0).comm.data(), "two words");
}

TEST_F(SpoolImageTest, NameOfTheMainThreadIsThatOfTheProcess) {
  ThreadLog main_log;
  second_.AddThread(main_log, 2, "");
  second_.SetThreadName(main_log, "before");
  second_.AddLoss(log_, LossCause::kBlocked, 1);
  const auto comm = [&] {
    const std::vector<uint8_t> bytes = spool_.Bytes();
    SpoolReader reader;
    EXPECT_EQ(reader.Open(bytes), SpoolStatus::kOk);
    return std::string(reader.image(1).comm.data());
  };
  EXPECT_EQ(comm(), "before");
  second_.SetThreadName(log_, "not the main one");
  EXPECT_EQ(comm(), "before");
  second_.SetThreadName(main_log, "after");
  EXPECT_EQ(comm(), "after");
}

// What a process loses that comes when the spool is full already.
TEST(SpoolImage, ImageWithoutRoomForItsRecordIsCountedForAll) {
  TestSpool spool(8 * kSpoolPageSize);
  SpoolWriter first;
  ASSERT_EQ(first.Open(spool.fd(), TestImage(1)), SpoolStatus::kOk);
  unwind::ModuleId id = 0;
  while (first.AddModule(id, TestModule(0x100000, 0x4000, 1, "/lib/x.so"))) {
    ASSERT_LT(++id, 10'000u);
  }
  SpoolWriter late;
  ASSERT_EQ(late.Open(spool.fd(), TestImage(2)), SpoolStatus::kOk);
  ThreadLog late_log;
  late.AddThread(late_log, 2, "late");
  late.AddLoss(late_log, LossCause::kFull, 4);
  late.AddUnsampled(late_log, 6);
  EXPECT_FALSE(late.has_recorded());
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_EQ(reader.image_count(), 1u);
  EXPECT_EQ(reader.lost().count, 2u);
  EXPECT_EQ(reader.lost().weight, 10u);
  first.Close();
  late.Close();
}

// mlockall(2) fills what may be accessed, and a spool is mostly holes.
TEST(SpoolImage, MostOfTheMappingIsOutOfReach) {
  TestSpool spool(uint64_t{1} << 30);
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  const auto begin = reinterpret_cast<uintptr_t>(writer.bytes().data());
  size_t accessible = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t low = 0;
    uintptr_t high = 0;
    char access[5];
    ASSERT_EQ(sscanf(line.c_str(), "%lx-%lx %4s", &low, &high, access), 3);
    if (low >= begin && high <= begin + (uint64_t{1} << 30) &&
        access[0] != '-') {
      accessible += high - low;
    }
  }
  EXPECT_EQ(accessible, uint64_t{64} << 20);
  writer.Close();
}

}  // namespace
}  // namespace unspool::collectors
