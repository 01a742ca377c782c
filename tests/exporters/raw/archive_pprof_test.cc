// A profile says the same whether images that ended were condensed or not.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "collectors/spool/spool_archive.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::SampleKind;
using collectors::TestImage;
using collectors::TestModule;
using unwind::WalkEnd;

// Every sample with its labels → values.
std::map<std::string, std::vector<int64_t>> Samples(
    const WrittenProfile& written) {
  std::map<std::string, std::vector<int64_t>> samples;
  for (int i = 0; i < written.proto().sample_size(); ++i) {
    const auto& sample = written.proto().sample(i);
    std::string key;
    for (const uint64_t id : sample.location_id()) {
      key += written.Frame(id) + ';';
    }
    for (const auto& [name, value] : written.Labels(i)) {
      key += ' ' + name + '=' + value;
    }
    auto& values = samples[key];
    values.resize(2);
    for (int j = 0; j < 2; ++j) values[j] += sample.value(j);
  }
  return samples;
}

// A process with all that a recording can hold.
void AddProcess(Recording& recording, int32_t pid, bool is_wall) {
  collectors::ImageInfo info = TestImage(pid);
  info.parent_pid = 1;
  info.pid_namespace += pid == 52 ? 1 : 0;
  info.clock =
      is_wall ? collectors::SampleClock::kWall : collectors::SampleClock::kCpu;
  recording.BeginImage(info);
  unwind::Module program =
      TestModule(0x10000 * static_cast<uint64_t>(pid), 0x9000, 1, "/bin/app");
  program.is_main = true;
  unwind::Module code = TestModule(0x7000000, 0x1000, 9, "generated");
  code.is_registered = true;
  auto& writer = recording.writer();
  writer.AddModule(0, program);
  writer.AddModule(4, code);
  auto& log = recording.AddThread(pid, "main");
  for (uint64_t i = 0; i < 150; ++i) {
    const std::vector<unwind::Frame> frames = {
        {program.bias + 0x1100 + i, 0, true, i % 7 == 0},
        {0x7000010 + i % 3, 4, false, false},
        {program.bias + 0x1200, 0, i % 2 == 0, false},
        {i % 4, unwind::kNoModule, false, i % 3 == 0}};
    recording.Sample(log, frames,
                     static_cast<WalkEnd>(i % unwind::kWalkEndCount), 10 + i,
                     1 + static_cast<int>(i % 2));
    if (!is_wall) continue;
    const auto stack = writer.AddStack(frames, WalkEnd::kRoot);
    ASSERT_TRUE(writer.AddSample(log, SampleKind::kOffCpu, stack, 77));
    ASSERT_TRUE(writer.AddSample(log, SampleKind::kOffCpu,
                                 collectors::kRunnableNode, 5));
  }
  writer.AddLoss(log, collectors::LossCause::kBlocked, 99);
  writer.AddUnsampled(log, 88);
  writer.NoteEnd(TestImage().start_monotonic_ns + 1000 * pid,
                 uint64_t{10'000'000} * pid);
}

void ExpectSameWhenCondensed(bool is_wall) {
  Recording recording;
  for (const int32_t pid : {50, 51, 52, 53}) {
    AddProcess(recording, pid, is_wall);
  }
  recording.EndImage();
  const WrittenProfile before(recording.Bytes());
  {
    const std::vector<uint8_t> bytes = recording.Bytes();
    collectors::SpoolReader reader;
    ASSERT_EQ(reader.Open(bytes), collectors::SpoolStatus::kOk);
    collectors::SpoolArchive archive;
    ASSERT_EQ(archive.Open(recording.fd()), collectors::SpoolStatus::kOk);
    for (size_t i = 1; i < reader.image_count(); ++i) {
      ASSERT_TRUE(archive.Add(reader, i));
    }
  }
  const WrittenProfile after(recording.Bytes());
  ExpectValid(after);
  EXPECT_EQ(Samples(after), Samples(before));
  EXPECT_EQ(after.Comments(), before.Comments());
  EXPECT_EQ(after.Texts("unspool.pid_namespace="),
            before.Texts("unspool.pid_namespace="));
  EXPECT_EQ(after.proto().duration_nanos(), before.proto().duration_nanos());
  EXPECT_EQ(after.proto().time_nanos(), before.proto().time_nanos());
  EXPECT_EQ(after.proto().mapping_size(), before.proto().mapping_size());
  EXPECT_EQ(after.totals().weight_ns, before.totals().weight_ns);
  EXPECT_EQ(after.totals().images, 4u);
}

TEST(ArchivePprof, SaysTheSame) { ExpectSameWhenCondensed(false); }

TEST(ArchivePprof, SaysTheSameByTheWallClock) { ExpectSameWhenCondensed(true); }

}  // namespace
}  // namespace unspool::exporters
