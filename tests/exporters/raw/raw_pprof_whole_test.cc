// A recording as a whole: comments, images of one program or several, what the
// bytes go into.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "exporters/raw/raw_pprof.h"
#include "tests/exporters/raw/raw_pprof_fixture.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::TestImage;
using collectors::TestModule;
using collectors::ThreadLog;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using unwind::kNoModule;
using unwind::WalkEnd;

TEST_F(RawPprofTest, CommentsTellHowItWasRecorded) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  // 8 samples in 100 ms of CPU time: 80 a second, of 100 asked for.
  recording_.Sample(log, {}, WalkEnd::kRoot, 12'500'000, 8);
  recording_.writer().NoteEnd(1, 101'000'000);
  const char* const kMore[] = {"unspool.output=x y.pb.gz"};
  EXPECT_THAT(
      Write({.comments = kMore}).Comments(),
      IsSupersetOf(
          {Pair("command", "app --name 'two words'"), Pair("engine", "timer"),
           Pair("frequency", "100"), Pair("rate", "80"),
           Pair("cpu_ns", "101000000"), Pair("images", "1"),
           Pair("threads", "1"), Pair("pid_namespace", "pid:[4026531836]"),
           Pair("samples", "8"), Pair("truncated", "0"), Pair("lost", "0"),
           Pair("audited", "0"), Pair("audit_differs", "0"),
           Pair("version", "0.1.0"), Pair("output", "x y.pb.gz")}));
}

// Threads that ended before they were found: 300 ms of 500 here, of which 1 %
// and a period for each thread, and one, may be what clocks differ by.
TEST_F(RawPprofTest, WhatNoThreadUsedIsUnsampled) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  recording_.Sample(log, {}, WalkEnd::kRoot, 10'000'000, 20);
  const auto unsampled_after = [&](uint64_t cpu_ns) {
    recording_.writer().NoteEnd(1, cpu_ns);
    const WrittenProfile written = Write();
    EXPECT_EQ(written.totals().weight_ns, 200'000'000u);
    const auto stacks = written.Stacks();
    const auto found = stacks.find("[unsampled]");
    return found == stacks.end() ? 0 : found->second.back();
  };
  EXPECT_EQ(unsampled_after(500'000'000), 300'000'000);
  EXPECT_EQ(unsampled_after(222'200'000), 0);
  EXPECT_EQ(unsampled_after(222'300'000), 22'300'000);
  EXPECT_EQ(unsampled_after(100'000'000), 0);
  EXPECT_EQ(unsampled_after(0), 0);
}

TEST_F(RawPprofTest, CommentsTellWhatAuditsFound) {
  using unwind::AuditFinding;
  for (const AuditFinding finding :
       {AuditFinding::kSame, AuditFinding::kSame, AuditFinding::kSame,
        AuditFinding::kModule, AuditFinding::kRule, AuditFinding::kRule}) {
    recording_.writer().AddAudit(finding);
  }
  const WrittenProfile written = Write();
  const auto comments = written.Comments();
  EXPECT_THAT(comments,
              IsSupersetOf({Pair("audited", "6"), Pair("audit_differs", "3"),
                            Pair("audit_differs.rule", "2"),
                            Pair("audit_differs.module", "1")}));
  EXPECT_FALSE(comments.contains("audit_differs.stack"));
  EXPECT_EQ(written.totals().audited, 6u);
  EXPECT_EQ(written.totals().audit_differs, 3u);
  EXPECT_STREQ(written.totals().audit_cause, "rule");
}

TEST_F(RawPprofTest, CommandIsQuotedAsForAShell) {
  const struct {
    std::string command_line;
    const char* expected;
  } kRows[] = {
      {std::string("a\0b\0", 4), "a b"},
      {std::string("sh\0-c\0exec x\0", 13), "sh -c 'exec x'"},
      {std::string("echo\0it's\0", 10), "echo 'it'\\''s'"},
      {std::string("echo\0\0x\0", 8), "echo '' x"},
      {std::string("cut sho", 7), "'cut sho'"},
      {std::string("f\xff\0", 3), "'f?'"},
  };
  for (const auto& row : kRows) {
    Recording recording;
    collectors::ImageInfo info = TestImage();
    info.command_line = row.command_line;
    recording.BeginImage(info);
    EXPECT_EQ(WrittenProfile(recording.Bytes()).Comments().at("command"),
              row.expected);
  }
}

// Numbers alone do not say which process it was.
TEST_F(RawPprofTest, ProcessesInSeveralPidNamespacesAreTold) {
  const auto begin = [this](int32_t pid, uint32_t pid_namespace) {
    collectors::ImageInfo info = TestImage(pid);
    info.pid_namespace = pid_namespace;
    Begin(info, kApp, kLib);
    recording_.Sample(recording_.AddThread(pid, "t"), {}, WalkEnd::kRoot, 1);
  };
  begin(12, 9);
  begin(1, 3);
  begin(12, 9);  // exec
  begin(7, 3);
  EXPECT_THAT(
      Write().Texts("unspool.pid_namespace="),
      ElementsAre("pid:[3] 1 7", "pid:[9] 12", "pid:[4026531836] 4711"));
}

TEST_F(RawPprofTest, NamesThatAreNotUtf8AreCleaned) {
  ThreadLog& log = recording_.AddThread(4712, "caf\xe9");
  recording_.Sample(log, {}, WalkEnd::kRoot, 1);
  EXPECT_EQ(Write().Labels(0).at("thread"), "caf?");
}

TEST_F(RawPprofTest, SameFileElsewhereIsTheSameMapping) {
  ThreadLog& parent = recording_.AddThread(4711, "app");
  recording_.Sample(parent, {{kLib + 0x1230, 1, true, false}}, WalkEnd::kRoot,
                    3);
  Begin(TestImage(4800), kApp + 0x70000, kLib - 0x30000);
  ThreadLog& child = recording_.AddThread(4800, "app");
  recording_.Sample(child, {{kLib - 0x30000 + 0x1230, 1, true, false}},
                    WalkEnd::kRoot, 5);
  const WrittenProfile written = Write();
  EXPECT_EQ(written.totals().images, 2u);
  EXPECT_EQ(written.proto().location_size(), 1);
  EXPECT_EQ(written.proto().mapping_size(), 2);
  EXPECT_THAT(written.Stacks(), ElementsAre(Pair("/lib/libx.so+0x7f1200001230",
                                                 ElementsAre(2, 8))));
  EXPECT_EQ(written.Labels(0).at("pid"), "4711");
  EXPECT_EQ(written.Labels(1).at("pid"), "4800");
}

TEST_F(RawPprofTest, FilesThatDifferInOneThingAreNotMerged) {
  unwind::Module base = TestModule(0x100000, 0x8000, 0x30, "/lib/v.so");
  unwind::Module other_path = base;
  other_path.path = "/lib/w.so";
  unwind::Module other_build = base;
  other_build.build_id.bytes[7] ^= 1;
  unwind::Module other_offset = base;
  other_offset.segments[0].file_offset += 0x1000;
  unwind::Module larger = base;
  larger.segments[0].end += 0x1000;
  unwind::Module nameless = base;
  nameless.build_id.size = 0;
  unwind::Module nameless_elsewhere = nameless;
  nameless_elsewhere.segments[0].start += 0x10000;
  nameless_elsewhere.segments[0].end += 0x10000;
  const unwind::Module kModules[] = {
      base,   other_path, other_build,       other_offset,
      larger, nameless,   nameless_elsewhere};
  ThreadLog& log = recording_.AddThread(4711, "app");
  unwind::ModuleId id = 10;
  for (const unwind::Module& module : kModules) {
    ASSERT_TRUE(recording_.writer().AddModule(id, module));
    recording_.Sample(log, {{module.segments[0].start, id, true, false}},
                      WalkEnd::kRoot, 1);
    ++id;
  }
  // And the program's.
  EXPECT_EQ(Write().proto().mapping_size(), 1 + int{std::size(kModules)});
}

// `sh -c 'exec app'`: one process, two programs.
TEST(RawPprof, ProgramThatTheCommandBecameIsFirst) {
  Recording recording;
  const auto begin = [&](int32_t pid, const char* path, uint8_t seed) {
    recording.BeginImage(TestImage(pid));
    unwind::Module module = TestModule(0x10000 * seed, 0x8000, seed, path);
    module.is_main = true;
    ASSERT_TRUE(recording.writer().AddModule(0, module));
    ThreadLog& log = recording.AddThread(pid, "t");
    recording.Sample(log, {{module.segments[0].start, 0, true, false}},
                     WalkEnd::kRoot, 1);
  };
  begin(50, "/bin/sh", 1);
  begin(50, "/usr/bin/app", 2);
  begin(51, "/usr/bin/child", 3);
  const WrittenProfile written(recording.Bytes());
  ExpectValid(written);
  EXPECT_EQ(written.text(written.mapping(1).filename()), "/usr/bin/app");
  EXPECT_EQ(written.proto().mapping_size(), 3);
}

TEST_F(RawPprofTest, GzipGivesTheSameBytes) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  for (uint64_t i = 0; i < 5000; ++i) {
    recording_.Sample(log, {{kApp + 0x1000 + i, 3, true, false}},
                      WalkEnd::kRoot, i);
  }
  const auto spool = recording_.Bytes();
  std::string plain;
  std::string gzip;
  ASSERT_EQ(WriteToString(spool, {}, &plain), RawStatus::kOk);
  ASSERT_EQ(WriteToString(spool, {.gzip = true}, &gzip), RawStatus::kOk);
  EXPECT_LT(gzip.size(), plain.size() / 2);
  std::string unpacked(plain.size() + 1, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(gzip.data());
  stream.avail_in = gzip.size();
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = unpacked.size();
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  unpacked.resize(stream.total_out);
  EXPECT_TRUE(unpacked == plain);
  inflateEnd(&stream);
}

TEST_F(RawPprofTest, SinkThatFailsIsReported) {
  ThreadLog& log = recording_.AddThread(4711, "app");
  for (uint64_t i = 0; i < 8'000; ++i) {
    recording_.Sample(log,
                      {{kApp + 0x1000 + i % 0x8000, 3, true, false},
                       {i, kNoModule, false, false}},
                      WalkEnd::kRoot, i);
  }
  const auto spool = recording_.Bytes();
  for (const bool gzip : {false, true}) {
    std::string whole;
    ASSERT_EQ(WriteToString(spool, {.gzip = gzip}, &whole), RawStatus::kOk);
    for (const size_t room : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
      struct Limited {
        size_t room;
        int calls_after_failure = 0;
        bool has_failed = false;
      } limited{room};
      const ByteSink sink = {[](void* context, const void*, size_t size) {
                               auto* self = static_cast<Limited*>(context);
                               self->calls_after_failure += self->has_failed;
                               self->has_failed |= size > self->room;
                               self->room -= std::min(size, self->room);
                               return !self->has_failed;
                             },
                             &limited};
      EXPECT_EQ(WriteRawPprof(spool, {.gzip = gzip}, sink, nullptr),
                RawStatus::kSinkFailed);
      EXPECT_EQ(limited.calls_after_failure, 0);
    }
  }
}

TEST_F(RawPprofTest, StackOfTooManyFramesIsCutWithALabel) {
  // Deeper than any walk of ours: as a hostile spool would have it.
  ThreadLog& log = recording_.AddThread(4711, "app");
  std::vector<unwind::Frame> frames;
  for (uint64_t i = 0; i < 70'000; ++i) {
    frames.push_back({i, kNoModule, true, false});
  }
  recording_.Sample(log, frames, WalkEnd::kRoot, 1);
  const WrittenProfile written = Write();
  const auto& sample = written.proto().sample(0);
  EXPECT_EQ(sample.location_id_size(), 65'536 + 1);
  EXPECT_EQ(written.Frame(sample.location_id(0)), "[unknown]+0x0");
  EXPECT_EQ(written.Frame(sample.location_id(65'536)), "[truncated: depth]");
}

}  // namespace
}  // namespace unspool::exporters
