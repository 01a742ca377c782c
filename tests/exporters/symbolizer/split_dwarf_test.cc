// Split DWARF: the same program, compiled with and without, must get the same
// names wherever the other halves of its units lie.

#include "exporters/symbolizer/split_dwarf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/exporters/symbolizer/program_folder.h"

namespace unspool::exporters {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Format {
  const char* name;
  const char* compiler;
  const char* flags;
};

class SplitDwarfTest : public ProgramFolder,
                       public testing::WithParamInterface<Format> {
 protected:
  void SetUp() override {
    Compile(GetParam().compiler, GetParam().flags, "whole");
    expected_ = NamesOf("whole");
    Compile(GetParam().compiler,
            std::string(GetParam().flags) + " -gsplit-dwarf", "split");
    ASSERT_GT(expected_.size(), 50u);
    ASSERT_THAT(expected_, Contains(HasSubstr("shapes::Scaled<double>")));
    ASSERT_THAT(expected_, Contains(HasSubstr("(anonymous namespace)")));
  }

  // Shows the first difference.
  void ExpectSame(const std::vector<std::string>& names) {
    const auto [theirs, ours] = std::ranges::mismatch(expected_, names);
    EXPECT_EQ(theirs == expected_.end() ? "the end" : *theirs,
              ours == names.end() ? "the end" : *ours);
  }

  // Everything is as without splitting.
  void ExpectAllNames(const std::string& name) {
    ExpectSame(NamesOf(name));
    EXPECT_THAT(ProblemsOf(name), IsEmpty());
  }

  std::vector<std::string> expected_;
};

TEST_P(SplitDwarfTest, DwoFilesAreFoundWhereTheyWereCompiled) {
  ExpectAllNames("split");
  Run("mkdir elsewhere && mv split elsewhere");
  ExpectAllNames("elsewhere/split");
}

TEST_P(SplitDwarfTest, DwoFilesAreFoundBesideTheProgram) {
  Run("mkdir elsewhere && mv split *.dwo elsewhere");
  ExpectAllNames("elsewhere/split");
}

TEST_P(SplitDwarfTest, CompressedDwoFilesAreRead) {
  Run("for i in *.dwo; do objcopy --compress-debug-sections=zstd $i; done");
  ExpectAllNames("split");
}

TEST_P(SplitDwarfTest, PackagesOfLlvmAreRead) {
  Run("llvm-dwp-14 -e split -o split.dwp && rm *.dwo");
  ExpectAllNames("split");
  Run("objcopy --compress-debug-sections=zlib split.dwp");
  ExpectAllNames("split");
}

TEST_P(SplitDwarfTest, APackageBelongsToTheProgramOfADebugFile) {
  Run("llvm-dwp-14 -e split -o split.dwp && rm *.dwo"
      " && objcopy --only-keep-debug split split.debug && strip -s split"
      " && objcopy --add-gnu-debuglink=split.debug split");
  ExpectAllNames("split");
}

TEST_P(SplitDwarfTest, MissingDwoFilesAreReportedOnceAndSymbolsAreUsed) {
  Run("rm *.dwo");
  EXPECT_EQ(NameAt("split", "_ZN6shapes12SumOfSquaresEl"),
            "shapes::SumOfSquares(long) shapes.cc:23");  // the line is there
  EXPECT_THAT(
      ProblemsOf("split"),
      ElementsAre(HasSubstr(
          "split: .dwo files that are missing: 2, the first is shapes")));
}

TEST_P(SplitDwarfTest, DwoFilesOfAnotherBuildAreReportedAndNotUsed) {
  Run("mkdir old && mv split old");
  Compile(GetParam().compiler,
          std::string(GetParam().flags) + " -gsplit-dwarf -O1 -DOTHER", "new");
  EXPECT_EQ(NameAt("old/split", "_ZN6shapes12SumOfSquaresEl"),
            "shapes::SumOfSquares(long) shapes.cc:23");
  EXPECT_THAT(ProblemsOf("old/split"),
              Contains(HasSubstr("shapes.dwo: is of another build")));
}

TEST_P(SplitDwarfTest, DamagedPackagesAreReportedAndDwoFilesUsed) {
  Run("llvm-dwp-14 -e split -o split.dwp");
  Patch("split.dwp", ".debug_cu_index", 12, 3);  // slots: no power of two
  ExpectSame(NamesOf("split"));
  EXPECT_THAT(ProblemsOf("split"),
              ElementsAre(Path("split.dwp") + ": .debug_cu_index is damaged"));
}

// Whatever is damaged costs names, nothing else.
TEST_P(SplitDwarfTest, SurvivesDamagedFiles) {
  Run("llvm-dwp-14 -e split -o split.dwp");
  const std::string dwo = ReadFile(Path("shapes.dwo"));
  const std::string package = ReadFile(Path("split.dwp"));
  for (size_t byte = 0; byte < package.size(); byte += 101) {
    std::string damaged = package;
    damaged[byte] = static_cast<char>(~damaged[byte]);
    WriteFileOrDie(Path("split.dwp"), damaged);
    if (byte < dwo.size()) {
      damaged = dwo;
      damaged[byte] = static_cast<char>(~damaged[byte]);
      WriteFileOrDie(Path("shapes.dwo"), damaged);
    }
    EXPECT_GT(NamesOf("split").size(), 30u);
  }
}

// binutils 2.40 makes packages of DWARF 4 only: of 5 it crashes.
class BinutilsPackageTest : public SplitDwarfTest {};

TEST_P(BinutilsPackageTest, IsRead) {
  Run("dwp -e split -o split.dwp && rm *.dwo");
  ExpectAllNames("split");
}

constexpr auto kName = [](const auto& test) {
  return std::string(test.param.name);
};

INSTANTIATE_TEST_SUITE_P(
    Formats, BinutilsPackageTest,
    testing::Values(
        Format{"gcc4", "g++", "-gdwarf-4"},
        Format{"clang4", "clang++-14", "-gdwarf-4"},
        Format{"gcc4types", "g++", "-gdwarf-4 -fdebug-types-section"},
        Format{"clang4types", "clang++-14", "-gdwarf-4 -fdebug-types-section"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Formats, SplitDwarfTest,
    testing::Values(
        Format{"gcc4", "g++", "-gdwarf-4"}, Format{"gcc5", "g++", "-gdwarf-5"},
        Format{"clang4", "clang++-14", "-gdwarf-4"},
        Format{"clang5", "clang++-14", "-gdwarf-5"},
        Format{"gcc4types", "g++", "-gdwarf-4 -fdebug-types-section"},
        Format{"gcc5types", "g++", "-gdwarf-5 -fdebug-types-section"},
        Format{"clang4types", "clang++-14", "-gdwarf-4 -fdebug-types-section"},
        Format{"clang5types", "clang++-14", "-gdwarf-5 -fdebug-types-section"}),
    kName);

}  // namespace
}  // namespace unspool::exporters
