#include "unwind/load/debug_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/exporters/command.h"
#include "unwind/load/debug_link.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::unwind {
namespace {

using exporters::CommandResult;
using exporters::RunCommand;
using testing::ElementsAre;
using testing::IsEmpty;

// A folder that is a small file system: a stripped program in /bin, its debug
// file in /made, /debug for what distributions would put there.
class DebugFileTest : public testing::Test {
 protected:
  DebugFileTest() {
    Run("mkdir -p bin/.debug made debug/bin && cp " PROGRAM_DIR
        "/debugged bin"
        " && objcopy --only-keep-debug bin/debugged made/prog.debug"
        " && strip -s -o bin/prog bin/debugged && rm bin/debugged"
        " && objcopy --add-gnu-debuglink=made/prog.debug bin/prog");
    MappedFile file;
    ElfFile elf;
    EXPECT_EQ(file.Open((folder_ + "/bin/prog").c_str()), 0);
    EXPECT_EQ(elf.Parse(file.bytes()), ElfError::kNone);
    const std::string id = ToText(elf.FindBuildId()).text;
    id_path_ = "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
    Run("mkdir -p debug/.build-id/" + id.substr(0, 2));
  }
  ~DebugFileTest() override { RunCommand("rm -r " + folder_); }

  // In the folder.
  void Run(const std::string& command) {
    const CommandResult result = RunCommand("mkdir -p " + folder_ + " && cd " +
                                            folder_ + " && " + command);
    ASSERT_EQ(result.status, 0) << command << ": " << result.err;
  }

  void Put(const std::string& path) { Run("cp made/prog.debug ." + path); }

  // The path that is found for the program; "" for none. Fills rejected_.
  std::string Find(const std::string& path = "/bin/prog") {
    return Search(path, [](DebugFile& found, const auto&... arguments) {
      return found.Find(arguments...);
    });
  }

  template <typename Method>
  std::string Search(const std::string& path, Method method) {
    rejected_.clear();
    MappedFile file;
    ElfFile elf;
    EXPECT_EQ(file.Open(path.c_str(), folder_.c_str()), 0);
    EXPECT_EQ(elf.Parse(file.bytes()), ElfError::kNone);
    const DebugFileQuery query = {.path = path.c_str(),
                                  .id = file.id(),
                                  .root = folder_.c_str(),
                                  .debug_folder = "/debug"};
    const RejectedFiles rejected = {&DebugFileTest::Note, this};
    DebugFile found;
    const bool is_found = method(found, elf, query, rejected);
    EXPECT_EQ(is_found, found.elf().section_count() > 0);
    return is_found ? found.path() : "";
  }

  static void Note(void* test, const char* path, const char* why) {
    static_cast<DebugFileTest*>(test)->rejected_.push_back(std::string(path) +
                                                           " " + why);
  }

  const std::string folder_ = exporters::TempPath("debug");
  std::string id_path_;
  std::vector<std::string> rejected_;
};

TEST_F(DebugFileTest, IsLookedForInTheOrderOfGdb) {
  EXPECT_EQ(Find(), "");
  const std::string by_id = "/debug" + id_path_;
  for (const std::string& path : {std::string("/debug/bin/prog.debug"),
                                  std::string("/bin/.debug/prog.debug"),
                                  std::string("/bin/prog.debug"), by_id}) {
    Put(path);
    EXPECT_EQ(Find(), path);
    EXPECT_THAT(rejected_, IsEmpty());
  }
}

TEST_F(DebugFileTest, WithoutBuildIdIsFoundByItsLink) {
  Run("objcopy --remove-section=.note.gnu.build-id bin/prog");
  Put("/debug" + id_path_);
  EXPECT_EQ(Find(), "");
  Put("/bin/.debug/prog.debug");
  EXPECT_EQ(Find(), "/bin/.debug/prog.debug");
}

TEST_F(DebugFileTest, OfAnotherBuildIsReportedAndNotTaken) {
  Run("cp /bin/true bin/prog.debug && cp /bin/true ./debug" + id_path_);
  Put("/bin/.debug/prog.debug");
  EXPECT_EQ(Find(), "/bin/.debug/prog.debug");
  const std::string why = " is of another build: its build id differs";
  EXPECT_THAT(rejected_,
              ElementsAre("/debug" + id_path_ + why, "/bin/prog.debug" + why));
}

TEST_F(DebugFileTest, WithAWrongChecksumIsReportedAndNotTaken) {
  Put("/bin/prog.debug");
  Run("echo >>bin/prog.debug && cp bin/prog.debug debug/bin");
  const std::string why =
      " is of another build: its checksum is not that of .gnu_debuglink";
  EXPECT_EQ(Find(), "");
  EXPECT_THAT(rejected_, ElementsAre("/bin/prog.debug" + why,
                                     "/debug/bin/prog.debug" + why));
  Run("objcopy --remove-section=.note.gnu.build-id bin/prog");
  EXPECT_EQ(Find(), "");
  EXPECT_EQ(rejected_.size(), 2u);
}

TEST_F(DebugFileTest, ThatIsNoElfFileIsReportedAndNotTaken) {
  Run("echo >bin/prog.debug && mkdir bin/.debug/prog.debug");
  EXPECT_EQ(Find(), "");
  EXPECT_THAT(rejected_, ElementsAre("/bin/prog.debug not an ELF file"));
}

// Then the link in the program's folder is the program.
TEST_F(DebugFileTest, MayHaveTheNameOfTheProgram) {
  Run("mv made/prog.debug made/prog"
      " && objcopy --remove-section=.gnu_debuglink bin/prog"
      " && objcopy --add-gnu-debuglink=made/prog bin/prog"
      " && cp made/prog bin/.debug && ln bin/prog bin/hard");
  EXPECT_EQ(Find(), "/bin/.debug/prog");
  EXPECT_EQ(Find("/bin/hard"), "/bin/.debug/prog");
  EXPECT_THAT(rejected_, IsEmpty());
}

TEST_F(DebugFileTest, IsFoundBesideWhatALinkLeadsTo) {
  Run("mkdir -p usr && ln -s /bin/prog usr/prog");
  Put("/bin/.debug/prog.debug");
  EXPECT_EQ(Find("/usr/prog"), "/bin/.debug/prog.debug");
  Run("mkdir -p debug/usr");
  Put("/debug/usr/prog.debug");
  EXPECT_EQ(Find("/usr/prog"), "/debug/usr/prog.debug");
}

// Absolute links inside of a root, as in a container.
TEST_F(DebugFileTest, IsFoundInTheRootThatThePathIsOf) {
  Put("/debug/bin/prog.debug");
  Run("mv debug/bin/prog.debug made/x && ln -s /made/x debug/bin/prog.debug");
  EXPECT_EQ(Find(), "/debug/bin/prog.debug");
}

TEST_F(DebugFileTest, LinksWithFoldersAndDamagedLinksAreIgnored) {
  Put("/bin/prog.debug");
  const std::vector<std::string> contents = {
      "../bin/prog.debug\\0\\0\\0\\0\\0\\0\\0", "prog.debug", "prog.debug\\0",
      "\\0\\0\\0\\0\\0\\0\\0\\0"};
  for (const std::string& bytes : contents) {
    Run("printf '" + bytes +
        "' >link"
        " && objcopy --update-section .gnu_debuglink=link bin/prog");
    EXPECT_EQ(Find(), "") << bytes;
    EXPECT_THAT(rejected_, IsEmpty());
  }
}

class AltFileTest : public DebugFileTest {
 protected:
  // Names the file in .gnu_debugaltlink, with the build id of the program.
  void Name(const std::string& path) {
    std::string hex = id_path_;  // /.build-id/ab/cdef.debug
    hex = hex.substr(11, 2) + hex.substr(14, hex.rfind('.') - 14);
    Run("{ printf '" + path + "\\0'; printf '" + hex +
        "' | python3 -c 'import sys, binascii; "
        "sys.stdout.buffer.write(binascii.unhexlify(sys.stdin.read()))'; }"
        " >link; objcopy --remove-section=.gnu_debugaltlink"
        " --add-section .gnu_debugaltlink=link bin/prog");
  }

  std::string FindAlt(const std::string& path = "/bin/prog") {
    return Search(path, [](DebugFile& found, const auto&... arguments) {
      return found.FindAlt(arguments...);
    });
  }
};

TEST_F(AltFileTest, IsFoundByItsPathThenByItsBuildId) {
  EXPECT_EQ(FindAlt(), "");
  Name("/made/common");
  EXPECT_EQ(FindAlt(), "");
  Put("/debug" + id_path_);
  EXPECT_EQ(FindAlt(), "/debug" + id_path_);
  Put("/made/common");
  EXPECT_EQ(FindAlt(), "/made/common");
  Name("../made/common");
  EXPECT_EQ(FindAlt(), "/bin/../made/common");
  Run("mkdir -p a/b && ln -s ../../bin/prog a/b/prog");
  EXPECT_EQ(FindAlt("/a/b/prog"), "/bin/../made/common");
}

TEST_F(AltFileTest, OfAnotherBuildIsReportedAndNotTaken) {
  Name("/made/common");
  Run("cp /bin/true made/common");
  EXPECT_EQ(FindAlt(), "");
  EXPECT_THAT(
      rejected_,
      ElementsAre("/made/common is of another build: its build id differs"));
}

}  // namespace
}  // namespace unspool::unwind
