#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>

#include "exporters/export.h"
#include "exporters/gzip.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

using testing::HasSubstr;

class WritePprofTest : public testing::Test {
 protected:
  WritePprofTest() { mkdir(folder_.c_str(), 0700); }
  ~WritePprofTest() override { RunCommand("rm -r " + folder_); }

  std::string Listing() const { return RunCommand("ls " + folder_).out; }

  const std::string folder_ = TempPath("folder");
};

TEST_F(WritePprofTest, CompressesUnlessTheNameEndsInPb) {
  const Profile profile = NewCpuProfile();
  ASSERT_TRUE(WritePprof(profile, folder_ + "/a.pb.gz").ok());
  ASSERT_TRUE(WritePprof(profile, folder_ + "/a.pb").ok());
  ASSERT_TRUE(WritePprof(profile, folder_ + "/other").ok());
  EXPECT_TRUE(IsGzip(ReadFile(folder_ + "/a.pb.gz")));
  EXPECT_FALSE(IsGzip(ReadFile(folder_ + "/a.pb")));
  EXPECT_TRUE(IsGzip(ReadFile(folder_ + "/other")));
  EXPECT_EQ(Listing(), "a.pb\na.pb.gz\nother\n");  // no temporary file left
  EXPECT_TRUE(LoadProfile(folder_ + "/a.pb.gz").ok());
}

TEST_F(WritePprofTest, KeepsToTheUmask) {
  const std::string path = folder_ + "/a.pb";
  const mode_t old_mask = umask(027);
  ASSERT_TRUE(WritePprof(NewCpuProfile(), path).ok());
  umask(old_mask);
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(WritePprofTest, ReplacesAFileAndKeepsItsPermissions) {
  const std::string path = folder_ + "/a.pb";
  WriteFileOrDie(path, "old");
  ASSERT_EQ(chmod(path.c_str(), 0604), 0);
  ASSERT_TRUE(WritePprof(NewCpuProfile(), path).ok());
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0604u);
  EXPECT_TRUE(LoadProfile(path).ok());
}

// Process numbers come again.
TEST_F(WritePprofTest, WhatAnEarlierRunLeftBehindIsNotInTheWay) {
  const std::string path = folder_ + "/a.pb";
  const std::string stale = path + ".tmp" + std::to_string(getpid());
  for (const std::string& name : {path, stale, stale + ".0"}) {
    WriteFileOrDie(name, "old");
  }
  ASSERT_TRUE(WritePprof(NewCpuProfile(), path).ok());
  EXPECT_TRUE(LoadProfile(path).ok());
  EXPECT_EQ(ReadFile(stale + ".0"), "old");
}

// Is interrupted while it writes.
absl::Status WriteInterrupted(std::ostream& out) {
  out << std::string(1 << 20, 'x');
  out.flush();
  raise(SIGINT);
  out << "end";
  return absl::OkStatus();
}

TEST_F(WritePprofTest, ASignalMeanwhileLeavesWhatWasThereAndNothingElse) {
  WriteFileOrDie(folder_ + "/old", "old");
  for (const char* name : {"/new", "/old"}) {
    EXPECT_EXIT(
        {
          signal(SIGINT, SIG_DFL);
          (void)WriteFile(folder_ + name, WriteInterrupted);
        },
        testing::KilledBySignal(SIGINT), "");
  }
  EXPECT_EQ(Listing(), "old\n");
  EXPECT_EQ(ReadFile(folder_ + "/old"), "old");
}

TEST_F(WritePprofTest, WithoutProcASignalWaitsForTheWholeFile) {
  EXPECT_EXIT(
      {
        signal(SIGINT, SIG_DFL);
        if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) _exit(1);
        if (chroot(folder_.c_str()) != 0) _exit(2);
        (void)WriteFile("/new", WriteInterrupted);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(Listing(), "new\n");
  EXPECT_EQ(ReadFile(folder_ + "/new"), std::string(1 << 20, 'x') + "end");
}

TEST_F(WritePprofTest, WritesADeviceInPlace) {
  EXPECT_TRUE(WritePprof(NewCpuProfile(), "/dev/null").ok());
  struct stat info;
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST_F(WritePprofTest, LeavesNothingBehindOnFailure) {
  const std::string missing = folder_ + "/no/such/a.pb";
  const absl::Status no_folder = WritePprof(NewCpuProfile(), missing);
  EXPECT_THAT(std::string(no_folder.message()), HasSubstr(missing));
  EXPECT_THAT(std::string(no_folder.message()), HasSubstr("No such file"));
  const absl::Status full = WritePprof(NewCpuProfile(), "/dev/full");
  EXPECT_THAT(std::string(full.message()), HasSubstr("No space left"));
  EXPECT_EQ(Listing(), "");
}

}  // namespace
}  // namespace unspool::exporters
