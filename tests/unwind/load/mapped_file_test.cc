#include "unwind/load/mapped_file.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/exporters/command.h"

namespace unspool::unwind {
namespace {

namespace fs = std::filesystem;

// ROOT/in/file, and links to it as they are written inside of that root.
class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() {
    fs::create_directories(root_ + "/in");
    exporters::WriteFileOrDie(root_ + "/in/file", "inside");
    fs::create_symlink("/in/file", root_ + "/absolute");
    fs::create_symlink("../../../in/file", root_ + "/in/above");
    fs::create_symlink("in", root_ + "/folder");
  }
  ~MappedFileTest() override { fs::remove_all(root_); }

  std::string Resolve(const char* path, const char* root) {
    char out[PATH_MAX];
    return ResolvePath(path, root, out) ? out : "";
  }

  const std::string root_ = exporters::TempPath("root");
};

TEST_F(MappedFileTest, FollowsLinksBelowItsRoot) {
  for (const char* path : {"/in/file", "/absolute", "/in/above", "/folder/file",
                           "/../../in/file"}) {
    MappedFile file;
    ASSERT_EQ(file.Open(path, root_.c_str()), 0) << path;
    EXPECT_EQ(std::string(file.bytes().begin(), file.bytes().end()), "inside");
    EXPECT_EQ(Resolve(path, root_.c_str()), "/in/file");
  }
  MappedFile file;
  EXPECT_EQ(file.Open("/in/nothing", root_.c_str()), ENOENT);
  EXPECT_EQ(file.Open("/in", root_.c_str()), EISDIR);
  EXPECT_EQ(file.Open("/file", (root_ + "/nothing").c_str()), ENOENT);
  EXPECT_EQ(Resolve("/in/nothing", root_.c_str()), "");
}

TEST_F(MappedFileTest, FollowsLinksWithoutARoot) {
  EXPECT_EQ(Resolve((root_ + "/folder/file").c_str(), ""), root_ + "/in/file");
  EXPECT_EQ(Resolve((root_ + "/absolute").c_str(), ""), "");
  char small[4];
  EXPECT_FALSE(ResolvePath((root_ + "/in/file").c_str(), "", small));
}

// The root of a process in our own mount namespace is that of the machine.
TEST_F(MappedFileTest, TakesTheRootOfAProcess) {
  const std::string process = "/proc/" + std::to_string(getpid()) + "/root";
  MappedFile file;
  EXPECT_EQ(file.Open((root_ + "/in/file").c_str(), process.c_str()), 0);
  EXPECT_EQ(Resolve((root_ + "/folder/file").c_str(), process.c_str()),
            root_ + "/in/file");
}

TEST_F(MappedFileTest, KnowsAFileByWhateverName) {
  fs::create_hard_link(root_ + "/in/file", root_ + "/other");
  exporters::WriteFileOrDie(root_ + "/copy", "inside");
  MappedFile file;
  MappedFile same;
  MappedFile copy;
  ASSERT_EQ(file.Open((root_ + "/in/file").c_str()), 0);
  ASSERT_EQ(same.Open((root_ + "/other").c_str()), 0);
  ASSERT_EQ(copy.Open((root_ + "/copy").c_str()), 0);
  EXPECT_EQ(file.id(), same.id());
  EXPECT_NE(file.id(), copy.id());
  EXPECT_NE(file.id(), FileId());
}

}  // namespace
}  // namespace unspool::unwind
