#include "exporters/symbolizer/debug_file.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {
namespace {

// A folder with a stripped program in bin/ and folders for debug files.
class DebugFileTest : public testing::Test {
 protected:
  DebugFileTest() {
    Run("mkdir -p " + folder_ + "/bin/.debug " + folder_ + "/debug" + folder_ +
        "/bin " + folder_ + "/debug/.build-id/" + build_id_.substr(0, 2));
    Run("cp " + ProgramPath("split") + " " + path_);
  }
  ~DebugFileTest() override { Run("rm -r " + folder_); }

  void Run(const std::string& command) {
    const CommandResult result = RunCommand(command);
    ASSERT_EQ(result.status, 0) << command << ": " << result.err;
  }

  void PutDebugFile(const std::string& path) {
    Run("cp " + ProgramPath("split.debug") + " " + folder_ + path);
  }

  std::string Find() {
    unwind::MappedFile file;
    unwind::ElfFile elf;
    EXPECT_EQ(file.Open(path_.c_str()), 0);
    EXPECT_EQ(elf.Parse(file.bytes()), unwind::ElfError::kNone);
    const std::string found = FindDebugFile(elf, path_, folder_ + "/debug");
    return found.substr(0, folder_.size()) == folder_
               ? found.substr(folder_.size())
               : found;
  }

  const std::string folder_ = TempPath("debug");
  const std::string path_ = folder_ + "/bin/split";
  const std::string build_id_ = BuildIdByReadelf(ProgramPath("split"));
};

TEST_F(DebugFileTest, IsFoundByBuildIdBeforeTheLink) {
  EXPECT_EQ(Find(), "");
  PutDebugFile("/debug" + folder_ + "/bin/split.debug");
  EXPECT_EQ(Find(), "/debug" + folder_ + "/bin/split.debug");
  PutDebugFile("/bin/.debug/split.debug");
  EXPECT_EQ(Find(), "/bin/.debug/split.debug");
  PutDebugFile("/bin/split.debug");
  EXPECT_EQ(Find(), "/bin/split.debug");
  const std::string by_id = "/debug/.build-id/" + build_id_.substr(0, 2) + "/" +
                            build_id_.substr(2) + ".debug";
  PutDebugFile(by_id);
  EXPECT_EQ(Find(), by_id);
}

TEST_F(DebugFileTest, OfAnotherBuildIsNotTaken) {
  Run("cp " + ProgramPath("inlined_gcc4") + " " + folder_ + "/bin/split.debug");
  EXPECT_EQ(Find(), "");
}

TEST_F(DebugFileTest, WithoutBuildIdIsCheckedByItsChecksum) {
  PutDebugFile("/bin/split.debug");
  Run("objcopy --remove-section=.note.gnu.build-id " + path_);
  EXPECT_EQ(Find(), "/bin/split.debug");
  Run("echo >>" + folder_ + "/bin/split.debug");
  EXPECT_EQ(Find(), "");
}

}  // namespace
}  // namespace unspool::exporters
