#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "exporters/export.h"
#include "exporters/gzip.h"
#include "exporters/pprof_format.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class LoadProfileTest : public testing::Test {
 protected:
  ~LoadProfileTest() override { std::remove(path_.c_str()); }

  absl::StatusOr<Profile> Load(std::string_view bytes) {
    WriteFileOrDie(path_, bytes);
    return LoadProfile(path_);
  }

  const std::string path_ = TempPath("profile");
};

TEST_F(LoadProfileTest, ReadsPprofWithAndWithoutGzipWhateverItsName) {
  const std::string bytes = EncodePprof(NewCpuProfile());
  EXPECT_TRUE(Load(bytes).ok());
  EXPECT_TRUE(Load(Gzip(bytes)).ok());
}

TEST_F(LoadProfileTest, SaysWhichFileAndWhatIsWrong) {
  const std::string whole = Gzip(EncodePprof(NewCpuProfile()));
  const struct {
    std::string bytes;
    const char* message;
  } kBad[] = {
      {"", "empty file"},
      {"some text\n", "not a profile or spool"},
      {Gzip("some text\n"), "not a profile or spool"},
      {whole.substr(0, whole.size() / 2), "truncated"},
      {whole.substr(0, whole.size() - 1), "truncated"},
      {"UNSPOOL1", "spool"},
      {"UNSPOOL1" + std::string(10'000, '\xff'), "spool"},
      {"UNSPOOL1" + std::string(10'000, '\0'), "spool"},
  };
  for (const auto& [bytes, message] : kBad) {
    const absl::Status status = Load(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), StartsWith(path_ + ": "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(LoadProfileTest, TakesTheKernelsMarkOffFilesThatWereDeleted) {
  const std::string so_called = TempPath("file (deleted)");
  WriteFileOrDie(so_called, "");
  Profile profile = NewCpuProfile();
  for (const std::string& path :
       {std::string("/gone/lib.so (deleted)"), so_called}) {
    profile.mappings.push_back({.memory_start = 0x1000,
                                .memory_limit = 0x2000,
                                .filename = profile.strings.Intern(path)});
  }
  const absl::StatusOr<Profile> loaded = Load(EncodePprof(profile));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_EQ(loaded->mappings.size(), 2u);
  EXPECT_EQ(loaded->strings[loaded->mappings[0].filename], "/gone/lib.so");
  EXPECT_EQ(loaded->strings[loaded->mappings[1].filename], so_called);
  std::remove(so_called.c_str());
}

TEST_F(LoadProfileTest, SaysWhyAFileCannotBeRead) {
  const absl::Status missing = LoadProfile(path_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr(path_));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("No such file"));
  const absl::Status folder = LoadProfile("/tmp").status();
  EXPECT_THAT(std::string(folder.message()), HasSubstr("directory"));
}

}  // namespace
}  // namespace unspool::exporters
