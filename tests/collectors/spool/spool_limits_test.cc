// No room: in the spool, on the disk, in the limits of the process. Nothing of
// that may kill it, and every sample that was not kept is counted.

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>

#include "collectors/spool/spool_reader.h"
#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/drain.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

using unwind::Frame;
using unwind::WalkEnd;

constexpr auto kFull = static_cast<size_t>(LossCause::kFull);

// How many samples were kept and lost, of `tries` with a new stack each.
struct Kept {
  uint64_t kept = 0;
  uint64_t lost = 0;
};

Kept RecordNewStacks(SpoolWriter& writer, ThreadLog& log, uint64_t tries) {
  Kept result;
  for (uint64_t i = 0; i < tries; ++i) {
    const Frame frames[] = {{0x1000 + i, unwind::kNoModule, true, false}};
    const NodeId stack = writer.AddStack(frames, WalkEnd::kRoot);
    if (stack != 0 && writer.AddSample(log, SampleKind::kCpu, stack, 2)) {
      ++result.kept;
    } else {
      writer.AddLoss(log, LossCause::kFull, 2);
      ++result.lost;
    }
  }
  return result;
}

// Samples and losses of a spool's first image.
Kept CountKept(std::span<const uint8_t> bytes) {
  SpoolReader reader;
  EXPECT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  Kept all{.lost = reader.image(0).losses[kFull].count};
  reader.ForEachThread(0, [&](const ThreadView& thread) {
    all.lost += thread.losses[kFull].count;
    EXPECT_EQ(thread.losses[kFull].weight, 2 * thread.losses[kFull].count);
  });
  for (const auto& [tid, samples] : ReadSamples(reader, 0)) {
    for (const ReadSample& sample : samples) all.kept += sample.count;
  }
  return all;
}

// The exit status of `body`, run in a process of its own; 1000 + N if signal N
// ended it.
template <typename Body>
int RunInChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(SpoolLimits, FullSpoolKeepsWhatItHasAndCountsTheRest) {
  for (const uint64_t pages : {9, 10, 16, 40, 100, 1000}) {
    TestSpool spool(pages * kSpoolPageSize);
    SpoolWriter writer;
    ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
    ThreadLog log;
    writer.AddThread(log, 1, "app");
    constexpr uint64_t kTries = 300'000;
    const Kept written = RecordNewStacks(writer, log, kTries);
    EXPECT_GT(written.kept, 0u) << pages;
    EXPECT_GT(written.lost, 0u) << pages;
    const Kept read = CountKept(spool.Bytes());
    EXPECT_EQ(read.kept, written.kept) << pages;
    EXPECT_EQ(read.lost, written.lost) << pages;
    writer.Close();
  }
}

TEST(SpoolLimits, KnownStacksAreStillCountedWhenFull) {
  TestSpool spool(20 * kSpoolPageSize);
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  ThreadLog log;
  writer.AddThread(log, 1, "app");
  const Kept first = RecordNewStacks(writer, log, 10'000);
  ASSERT_GT(first.lost, 0u);
  const Kept again = RecordNewStacks(writer, log, 10'000);
  EXPECT_EQ(again.kept, first.kept);
  writer.Close();
}

TEST(SpoolLimits, ThreadWithoutRoomForARecordCountsItsLossesInTheImage) {
  TestSpool spool(9 * kSpoolPageSize);
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  ThreadLog first;
  writer.AddThread(first, 1, "first");
  RecordNewStacks(writer, first, 2000);
  std::vector<ThreadLog> rest(4);
  for (ThreadLog& log : rest) {
    writer.AddThread(log, 2, "late");
    writer.AddLoss(log, LossCause::kFull, 2);
    writer.AddUnsampled(log, 2);  // a loss too, for want of a place
  }
  const std::vector<uint8_t> bytes = spool.Bytes();
  SpoolReader reader;
  ASSERT_EQ(reader.Open(bytes), SpoolStatus::kOk);
  EXPECT_GT(reader.image(0).losses[kFull].count, 0u);
  EXPECT_EQ(reader.image(0).losses[kFull].weight,
            2 * reader.image(0).losses[kFull].count);
  writer.Close();
}

TEST(SpoolLimits, ModuleWithoutRoomIsRefusedAndItsFramesStayAbsolute) {
  TestSpool spool(8 * kSpoolPageSize);
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  unwind::ModuleId id = 0;
  while (writer.AddModule(id, TestModule(0x100000, 0x4000, 1, "/lib/x.so"))) {
    ASSERT_LT(++id, 10'000u);
  }
  EXPECT_GT(id, 10u);
  EXPECT_EQ(Drain(spool.Bytes()).modules, id);
  writer.Close();
}

TEST(SpoolLimits, FileSizeLimitMakesASmallerSpool) {
  const struct {
    uint64_t limit;
    SpoolStatus expected;
    uint64_t pages;
  } kRows[] = {
      {4096, SpoolStatus::kTooSmall, 0},
      {300'000, SpoolStatus::kOk, 73},
      {kTestCapacity * 2, SpoolStatus::kOk, kTestCapacity / kSpoolPageSize}};
  for (const auto& row : kRows) {
    // SIGXFSZ would end the child.
    const int result = RunInChild([&] {
      const int fd = memfd_create("spool", MFD_CLOEXEC);
      const rlimit limit{row.limit, row.limit};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
      if (SpoolWriter::Create(fd, kTestCapacity) != row.expected) return 2;
      SpoolHeader header{};
      if (pread(fd, &header, sizeof(header), 0) < 0) return 3;
      if (header.capacity_pages != row.pages) return 4;
      SpoolWriter writer;
      if (row.pages == 0) return 0;
      return writer.Open(fd, TestImage()) == SpoolStatus::kOk ? 0 : 5;
    });
    EXPECT_EQ(result, 0) << row.limit;
  }
}

TEST(SpoolLimits, SealedSpoolCannotBeCutUnderItsReader) {
  TestSpool spool;
  EXPECT_EQ(ftruncate(spool.fd(), kSpoolPageSize), -1);
  EXPECT_EQ(errno, EPERM);
}

// A page that cannot be had is an error code, not a SIGBUS, for the writer and
// for a reader of the same mapping: here the pages are past the end of the
// file, which is the kernel's same path as a full tmpfs.
TEST(SpoolLimits, PageThatCannotBePopulatedIsALoss) {
  for (const uint64_t backed_pages : {8, 9, 12, 40, 300}) {
    const int result = RunInChild([&] {
      const int fd = memfd_create("unsealed", MFD_CLOEXEC);
      if (SpoolWriter::Create(fd, kTestCapacity) != SpoolStatus::kOk) return 1;
      SpoolWriter writer;
      if (writer.Open(fd, TestImage()) != SpoolStatus::kOk) return 2;
      if (ftruncate(fd, backed_pages * kSpoolPageSize) != 0) return 3;
      ThreadLog log;
      writer.AddThread(log, 1, "app");
      const Kept written = RecordNewStacks(writer, log, 40'000);
      if (written.lost == 0) return 4;
      const Kept read = CountKept(writer.bytes());
      return read.kept == written.kept && read.lost == written.lost ? 0 : 6;
    });
    EXPECT_EQ(result, 0) << backed_pages;
  }
}

// From now on MADV_POPULATE_WRITE fails with `error`, as on an older kernel
// (EINVAL) or on a full tmpfs (EFAULT).
bool RefusePopulation(uint32_t error) {
  const sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), const_cast<sock_filter*>(filter)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(SpoolLimits, OldKernelGetsABoundedSpoolThatIsAllocatedAtOpen) {
  constexpr uint64_t kCapacity = 3 * kPreallocatedBytes;
  TestSpool spool(kCapacity);
  const int result = RunInChild([&] {
    if (!RefusePopulation(EINVAL)) return 1;
    SpoolWriter writer;
    if (writer.Open(spool.fd(), TestImage()) != SpoolStatus::kOk) return 2;
    struct stat file;
    if (fstat(spool.fd(), &file) != 0) return 3;
    const uint64_t allocated = static_cast<uint64_t>(file.st_blocks) * 512;
    if (allocated < kPreallocatedBytes || allocated >= kCapacity) return 4;
    ThreadLog log;
    writer.AddThread(log, 1, "app");
    const Kept written = RecordNewStacks(writer, log, 1'000'000);
    if (written.kept < 100'000 || written.lost == 0) return 5;
    const Kept read = CountKept(spool.Bytes());
    return read.kept == written.kept && read.lost == written.lost ? 0 : 6;
  });
  EXPECT_EQ(result, 0);
  EXPECT_LE(spool.Bytes().size(),
            kPreallocatedBytes + kFirstChunkPage * kSpoolPageSize);
}

// From now on the process dies of what growing takes.
bool ForbidGrowing() {
  const sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), const_cast<sock_filter*>(filter)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(SpoolLimits, AfterGrowingStoppedThereIsRoomAndNoSystemCall) {
  TestSpool spool(4 * kLastGrowthBytes);
  const int result = RunInChild([&] {
    SpoolWriter writer;
    if (writer.Open(spool.fd(), TestImage()) != SpoolStatus::kOk) return 1;
    ThreadLog log;
    writer.AddThread(log, 1, "app");
    if (RecordNewStacks(writer, log, 10).lost != 0) return 2;
    writer.StopGrowing();
    if (!ForbidGrowing()) return 3;
    return RecordNewStacks(writer, log, 200'000).lost != 0 ? 0 : 4;
  });
  EXPECT_EQ(result, 0);
  const Kept all = CountKept(spool.Bytes());
  EXPECT_EQ(all.kept + all.lost, 200'010u);
  // A node and its counter take 48 bytes, in chunks that double.
  EXPECT_GT(all.kept, kLastGrowthBytes / 128);
}

TEST(SpoolLimits, FullDiskAtOpenIsAStatus) {
  TestSpool spool;
  const int result = RunInChild([&] {
    if (!RefusePopulation(EFAULT)) return 1;
    SpoolWriter writer;
    return writer.Open(spool.fd(), TestImage()) == SpoolStatus::kNoMemory ? 0
                                                                          : 2;
  });
  EXPECT_EQ(result, 0);
}

uint64_t AddressSpaceBytes() {
  FILE* file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  EXPECT_EQ(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  return pages * kSpoolPageSize;
}

TEST(SpoolLimits, AddressSpaceLimitMapsLessOrNothing) {
  const struct {
    const char* name;
    uint64_t room;
    SpoolStatus expected;
  } kRows[] = {{"none", 128 << 10, SpoolStatus::kNoMemory},
               {"nearly enough", 60 << 20, SpoolStatus::kOk}};
  for (const auto& row : kRows) {
    TestSpool spool;  // 64 MiB
    const int result = RunInChild([&] {
      const uint64_t bytes = AddressSpaceBytes() + row.room;
      const rlimit limit{bytes, bytes};
      if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
      SpoolWriter writer;
      if (writer.Open(spool.fd(), TestImage()) != row.expected) return 2;
      if (row.expected != SpoolStatus::kOk) return 0;
      ThreadLog log;
      writer.AddThread(log, 1, "app");
      const Kept written = RecordNewStacks(writer, log, 1000);
      return written.kept == 1000 ? 0 : 3;
    });
    EXPECT_EQ(result, 0) << row.name;
  }
}

TEST(SpoolLimits, IndexWithoutMemoryIsALoss) {
  TestSpool spool;
  const int result = RunInChild([&] {
    SpoolWriter writer;
    if (writer.Open(spool.fd(), TestImage()) != SpoolStatus::kOk) return 1;
    const uint64_t bytes = AddressSpaceBytes();
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    ThreadLog log;
    writer.AddThread(log, 1, "app");
    const Kept written = RecordNewStacks(writer, log, 1000);
    return written.lost == 1000 ? 0 : 3;
  });
  EXPECT_EQ(result, 0);
  EXPECT_EQ(CountKept(spool.Bytes()).lost, 1000u);
}

// Where the mapping is made accessible piece by piece: 64 MiB each.
TEST(SpoolLimits, ChunksMayLieAcrossWindows) {
  TestSpool spool(uint64_t{200} << 20);
  const uint64_t next = 2 * 16384 - 3;
  ASSERT_EQ(pwrite(spool.fd(), &next, sizeof(next),
                   offsetof(SpoolHeader, next_free_page)),
            ssize_t{sizeof(next)});
  SpoolWriter writer;
  ASSERT_EQ(writer.Open(spool.fd(), TestImage()), SpoolStatus::kOk);
  ThreadLog log;
  writer.AddThread(log, 1, "app");
  const Kept written = RecordNewStacks(writer, log, 20'000);
  EXPECT_EQ(written.kept, 20'000u);
  EXPECT_EQ(CountKept(writer.bytes()).kept, 20'000u);
  writer.Close();
}

}  // namespace
}  // namespace unspool::collectors
