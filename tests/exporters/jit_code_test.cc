// Names of JIT-compiled code from perf's map; whose files are believed.

#include "exporters/jit_code.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/export.h"
#include "tests/exporters/jit_process.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using JitCodeTest = JitProcessTest;

TEST_F(JitCodeTest, APerfMapNamesWhatItCovers) {
  Write(MapPath(),
        "7f0000001000 20 first\n7f0000001020 10 second <T>(int) x.js:1:2\n");
  const std::pair<uint64_t, const char*> rows[] = {
      {kCode - 1, "[unknown] :0"},
      {kCode, "first :0"},
      {kCode + 0x1f, "first :0"},
      {kCode + 0x2f, "second <T>(int) x.js:1:2 :0"},
      {kCode + 0x30, "[unknown] :0"}};
  for (const auto& row : rows) AddAddress(row.first);
  Symbolize(profile_, nullptr);
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(NameOf(i), rows[i].second);
  }
  EXPECT_THAT(Comments(), IsEmpty());
  const Location& named = profile_.locations[1];
  const Mapping& mapping = profile_.mappings[named.mapping];
  EXPECT_EQ(profile_.strings[mapping.filename], "[jit]");
  EXPECT_EQ(mapping.memory_start, kCode & ~uint64_t{4095});
  EXPECT_EQ(mapping.memory_limit, kCode + 4096);
  EXPECT_TRUE(mapping.has_functions);
}

TEST_F(JitCodeTest, AProfileWithoutTimeOrMappingsIsNamedToo) {
  Write(MapPath(), "7f0000001000 20 f\n");
  profile_.time_ns = 0;
  profile_.duration_ns = 0;
  profile_.mappings[0].filename = 0;
  AddAddress(kCode);
  AddAddress(kCode + 1);
  profile_.locations[1].mapping = kNoIndex;
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "f :0");
  EXPECT_EQ(NameOf(1), "f :0");
}

TEST_F(JitCodeTest, OfSeveralFunctionsAtAnAddressTheLastHasIt) {
  Write(MapPath(),
        "7f0000001000 100 old\n7f0000001010 10 new\n7f0000002000 8 else\n");
  AddAddress(kCode);
  AddAddress(kCode + 0x18);
  AddAddress(kCode + 0x20);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "old :0");
  EXPECT_EQ(NameOf(1), "new :0");
  EXPECT_EQ(NameOf(2), "old :0");
}

TEST_F(JitCodeTest, LinesOfAPerfMapThatAreNoneAreSkipped) {
  const char* const bad[] = {"",
                             "\n",
                             "zz 10 f\n",
                             "7f0000001000\n",
                             "7f0000001000 10\n",
                             "7f0000001000 10 \n",
                             "7f0000001000 f\n",
                             "7f0000001000 0 f\n",
                             "-7f0000001000 10 f\n",
                             "99999999999999999999 10 f\n",
                             "7f0000001000 10 not_ended",
                             "7f0000001000 10g f\n"};
  AddAddress(kCode);
  for (const char* text : bad) {
    SCOPED_TRACE(text);
    Write(MapPath(), text);
    EXPECT_THAT(NameJit(), IsEmpty());
    EXPECT_EQ(profile_.locations[0].line_count, 0u);
  }
}

TEST_F(JitCodeTest, RangesMayReachTheEndOfAllAddresses) {
  Write(MapPath(), "0 ffffffffffffffff all\nffffffffffffff00 ffff end\n");
  AddAddress(kCode);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "all :0");
}

TEST_F(JitCodeTest, ALargePerfMapIsReadToItsBeginning) {
  std::string text = "7f0000001000 10 first_of_many\n";
  for (int i = 0; i < 50'000; ++i) {
    text += "7f0000002000 10 some_name_" + std::to_string(i) + "\n";
  }
  Write(MapPath(), text);
  AddAddress(kCode + 1);
  AddAddress(kCode + 0x1001);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "first_of_many :0");
  EXPECT_EQ(NameOf(1), "some_name_49999 :0");
}

TEST_F(JitCodeTest, ManyRangesOverManyAddressesEnd) {
  std::string text = "0 ffffffffffffff all\n";
  for (int i = 0; i < 50'000; ++i) text += "7f0000000000 fffffff each\n";
  Write(MapPath(), text);
  for (uint64_t i = 0; i < 50'000; ++i) AddAddress(kCode + i);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(49'999), "each :0");
}

TEST_F(JitCodeTest, AFileThatIsNoTextIsReported) {
  Write(MapPath(), std::string(200'000, '\0'));
  AddAddress(kCode);
  Symbolize(profile_, nullptr);
  EXPECT_THAT(Comments(), ElementsAre("unspool.unnamed=" + MapPath() +
                                      ": has a line above 64 KiB"));
}

TEST_F(JitCodeTest, ProcessesHaveNamesOfTheirOwnAtOneAddress) {
  Write(MapPath(0), "7f0000001000 10 of_one\n");
  Write(MapPath(1), "7f0000001000 10 of_other\n");
  const uint32_t location = AddLocation(profile_, kCode);
  for (int process : {0, 1, 2, 0}) AddSample(location, process);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "of_one :0");
  EXPECT_EQ(NameOf(1), "of_other :0");
  EXPECT_EQ(NameOf(2), "[unknown] :0");
  EXPECT_EQ(NameOf(3), "of_one :0");
}

TEST_F(JitCodeTest, FilesByTheirTimesAndOwnersOfOthersAreNotUsed) {
  AddAddress(kCode);
  Write(MapPath(), "7f0000001000 10 f\n");
  struct Row {
    int64_t start_s;  // of the recording, from now
    const char* why;
  };
  for (const Row& row : {Row{60, "was last written before the recording"},
                         Row{-60, "was made after the recording ended"}}) {
    profile_.time_ns = (time(nullptr) + row.start_s) * kSecond;
    EXPECT_THAT(NameJit(), ElementsAre(HasSubstr(MapPath() + ": " + row.why)));
  }
  if (geteuid() == 0) {
    ASSERT_EQ(chown(MapPath().c_str(), 65534, 65534), 0);
    EXPECT_THAT(NameJit(),
                ElementsAre(HasSubstr("belongs neither to you nor to root")));
  }
  EXPECT_EQ(profile_.locations[0].line_count, 0u);
}

TEST_F(JitCodeTest, AFifoIsReportedAndNotWaitedFor) {
  written_.push_back(MapPath());
  ASSERT_EQ(mkfifo(MapPath().c_str(), 0600), 0);
  AddAddress(kCode);
  Symbolize(profile_, nullptr);
  EXPECT_THAT(Comments(), ElementsAre(HasSubstr("is not a regular file")));
}

TEST_F(JitCodeTest, CodeInFilesAndNamedCodeStayAsTheyAre) {
  Write(MapPath(), "0 ffffffffffffff all\n");
  profile_.mappings.push_back({.memory_start = 0x1000,
                               .memory_limit = 0x9000,
                               .filename = profile_.strings.Intern("/no/f")});
  AddAddress(0x2000);
  profile_.mappings.push_back(profile_.mappings[0]);
  AddAddress(uint64_t{0xffffffff81000000});  // the kernel's
  const uint32_t named = AddAddress(0x3000);
  profile_.functions.push_back({.name = profile_.strings.Intern("kept")});
  profile_.SetLines(profile_.locations[named], std::vector<Line>{{0, 5}});
  Symbolize(profile_, nullptr);
  EXPECT_EQ(profile_.locations[0].line_count, 0u);
  EXPECT_EQ(NameOf(1), "[unknown] :0");
  EXPECT_EQ(NameOf(2), "kept :5");
}

// A recording of a process that is in a pid namespace of its own.
class OtherNamespaceTest : public JitProcessTest {
 protected:
  class Files : public RecordedFiles {
   public:
    FoundFile FindFile(const std::string&, std::string_view) const override {
      return {};
    }
    ProcessFolders FindFolders(int64_t pid) const override {
      return pid == Pid(0) ? folders : ProcessFolders();
    }
    ProcessFolders folders;
  };

  OtherNamespaceTest() {
    profile_.AddComment("unspool.pid_namespace", "pid:[1]");
    AddAddress(kCode);
  }

  Files files_;
};

TEST_F(OtherNamespaceTest, FilesOfOurProcessOfThatNumberAreNotUsed) {
  Write(MapPath(), "7f0000001000 20 wrong\n");
  EXPECT_THAT(NameJit(), ElementsAre(HasSubstr("another pid namespace")));
  AddSample(0, 1);
  EXPECT_THAT(NameJit(), ElementsAre(HasSubstr(" and of 1 more: it ran in")));
  EXPECT_EQ(profile_.locations[0].line_count, 0u);
}

TEST_F(OtherNamespaceTest, FilesInItsOwnFoldersAre) {
  const std::string folder = testing::TempDir() + "own_tmp";
  mkdir(folder.c_str(), 0700);
  Write(MapPath(), "7f0000001000 20 wrong\n");
  Write(folder + MapPath().substr(sizeof("/tmp") - 1),
        "7f0000001000 20 right\n");
  files_.folders.temporary = {folder};
  EXPECT_THAT(NameJit(&files_), IsEmpty());
  EXPECT_EQ(NameOf(0), "right :0");
}

// Several namespaces may share /tmp.
TEST_F(OtherNamespaceTest, AFileThatWasThereBeforeTheRecordingIsNotUsed) {
  Write(MapPath(), "7f0000001000 20 wrong\n");
  profile_.time_ns += 60 * kSecond;
  const timespec times[2] = {
      {.tv_sec = 0, .tv_nsec = UTIME_OMIT},
      {.tv_sec = profile_.time_ns / kSecond, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, MapPath().c_str(), times, 0), 0);
  files_.folders.temporary = {"/tmp"};
  EXPECT_THAT(NameJit(&files_),
              ElementsAre(HasSubstr("was made before the recording began")));
  EXPECT_EQ(profile_.locations[0].line_count, 0u);
}

TEST_F(JitCodeTest, ANumberThatProcessesInTwoNamespacesHadNamesNothing) {
  struct stat own {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &own), 0);
  const std::string both =
      std::to_string(Pid(0)) + " " + std::to_string(Pid(1));
  profile_.AddComment("unspool.pid_namespace",
                      "pid:[" + std::to_string(own.st_ino) + "] " + both);
  profile_.AddComment("unspool.pid_namespace",
                      "pid:[1] 7 " + std::to_string(Pid(0)));
  for (int process : {0, 1}) Write(MapPath(process), "7f0000001000 20 f\n");
  AddSample(AddLocation(profile_, kCode), 0);
  AddSample(AddLocation(profile_, kCode), 1);
  EXPECT_THAT(NameJit(),
              ElementsAre(HasSubstr(std::to_string(Pid(0)) + ": it")));
  EXPECT_EQ(profile_.locations[0].line_count, 0u);
  EXPECT_EQ(NameOf(1), "f :0");
}

TEST_F(JitCodeTest, ProfilesOfTwoNamespacesThatWereMergedNameNothing) {
  profile_.AddComment("unspool.pid_namespace", "pid:[1]");
  profile_.AddComment("unspool.pid_namespace", "pid:[2]");
  Write(MapPath(), "7f0000001000 20 f\n");
  AddAddress(kCode);
  EXPECT_THAT(NameJit(), ElementsAre(HasSubstr("another pid namespace")));
}

TEST_F(JitCodeTest, WhatIsNamedWhenTheCallerEndsItKeepsItsName) {
  Write(MapPath(0), "7f0000001000 20 f\n");
  Write(MapPath(1), "7f0000001000 20 g\n");
  AddAddress(kCode);
  AddSample(0, 1);
  int calls = 0;
  const auto stop_at_second = [&calls](std::string_view, uint64_t, uint64_t) {
    if (++calls == 2) throw std::runtime_error("enough");
  };
  EXPECT_THROW(Symbolize(profile_, stop_at_second), std::runtime_error);
  EXPECT_EQ(NameOf(0), "f :0");
  const uint32_t second = profile_.sample(1).locations[0];
  EXPECT_EQ(profile_.locations[second].line_count, 0u);
}

TEST_F(JitCodeTest, ManyFoldersBelowDebugAreLookedAtOnce) {
  const std::string base = "/dev/shm/jitdumpdir-" + std::to_string(getpid());
  const std::string folder = base + "/.debug/jit";
  std::filesystem::create_directories(folder);
  for (int i = 0; i <= 16384; ++i) {
    mkdir((folder + "/" + std::to_string(i)).c_str(), 0700);
  }
  setenv("JITDUMPDIR", base.c_str(), 1);
  AddAddress(kCode);
  AddSample(0, 1);
  EXPECT_THAT(NameJit(),
              ElementsAre(folder + ": has more files than are looked at, "
                                   "16384: remove old ones"));
  unsetenv("JITDUMPDIR");
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace unspool::exporters
