// Where names come from: compressed sections, debug files, .gnu_debugdata,
// files that dwz made. The same code must get the same names from all of them.

#include "exporters/symbolizer/debug_files.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "exporters/symbolizer/module_tables.h"
#include "tests/exporters/elf_program.h"
#include "tests/exporters/symbolizer/program_folder.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DebugFilesTest : public ProgramFolder {
 protected:
  // Names of what the folder's ./whole has at the addresses of its functions.
  void SetUp() override {
    Copy("templates_gcc5", "whole");
    expected_ = NamesOf("whole");
    ASSERT_GT(expected_.size(), 500u);
  }

  std::vector<std::string> expected_;
};

TEST_F(DebugFilesTest, CompressedSectionsGiveTheSameNames) {
  for (const char* method : {"zlib-gabi", "zlib-gnu", "zstd"}) {
    Run(std::string("objcopy --compress-debug-sections=") + method +
        " whole packed");
    EXPECT_TRUE(NamesOf("packed") == expected_) << method;
    EXPECT_THAT(ProblemsOf("packed"), IsEmpty());
  }
}

TEST_F(DebugFilesTest, AnUnknownCompressionIsNamedAndSymbolsAreUsed) {
  Run("objcopy --compress-debug-sections=zstd whole packed");
  Patch("packed", ".debug_str", 0, 77);
  EXPECT_THAT(ProblemsOf("packed"),
              ElementsAre(Path("packed") +
                          ": .debug_str is compressed by a method that is "
                          "neither zlib nor zstd (ch_type 77)"));
  EXPECT_EQ(NameAt("packed", "main"), "main :0");
}

TEST_F(DebugFilesTest, DamagedDwarfIsReportedAndSymbolsAreUsed) {
  Run("objcopy --compress-debug-sections=zstd whole packed");
  Patch("packed", ".debug_info", 24, 1);
  EXPECT_THAT(ProblemsOf("packed"),
              ElementsAre(Path("packed") + ": .debug_info does not decompress "
                                           "to what it states"));
  EXPECT_EQ(NameAt("packed", "main"), "main :0");
  Copy("templates_gcc5", "bad");
  for (int i = 0; i < 8; ++i) Patch("bad", ".debug_info", i, 0xff);
  EXPECT_THAT(ProblemsOf("bad"),
              ElementsAre(Path("bad") + ": .debug_info is damaged"));
  EXPECT_EQ(NameAt("bad", "main"), "main :0");
}

// One line, and names by symbol; where only lines are gone, without lines.
TEST_F(DebugFilesTest, ZeroedDwarfIsReportedAndSymbolsAreUsed) {
  constexpr char kUnits[] =
      ": its DWARF is damaged: functions and lines of some units are missing";
  const struct {
    const char* section;
    const char* why;
    const char* main;
  } rows[] = {
      {".debug_info", ": .debug_info is damaged", "main :0"},
      {".debug_abbrev", kUnits, "main :0"},
      {".debug_line", kUnits, "main :0"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.section);
    Copy("templates_gcc5", "bad");
    Zero("bad", row.section);
    EXPECT_THAT(ProblemsOf("bad"), ElementsAre(Path("bad") + row.why));
    EXPECT_THAT(NameAt("bad", "main"), row.main);
  }
}

// Section headers are at the end of a file; the build id is at its beginning.
TEST_F(DebugFilesTest, AFileThatWasCutIsReportedAndItsDebugFileIsUsed) {
  const std::string why =
      ": is cut or damaged, names are missing: section headers are malformed "
      "or beyond the end of the file";
  Run("head -c $(($(stat -c %s whole) / 2)) whole >bare");
  EXPECT_THAT(ProblemsOf("bare"), ElementsAre(Path("bare") + why));
  Run("mkdir -p $(dirname debug/" + IdPath("whole") + ")");
  Run("objcopy --only-keep-debug whole debug/" + IdPath("whole"));
  EXPECT_TRUE(NamesOf("bare") == expected_);
  Run("strip -s -o bare whole && truncate -s -100 debug/" + IdPath("whole"));
  EXPECT_THAT(ProblemsOf("bare"),
              ElementsAre(Path("debug/" + IdPath("whole")) + why));
}

TEST_F(DebugFilesTest, SectionHeadersBeyondTheFileAreReported) {
  std::string bytes = ReadFile(Path("whole"));
  bytes.replace(offsetof(Elf64_Ehdr, e_shoff), 8, 8, '\x7f');
  WriteFileOrDie(Path("bad"), bytes);
  EXPECT_THAT(ProblemsOf("bad"), ElementsAre(HasSubstr("section headers are")));
  EXPECT_THAT(NameAt("bad", "main"), testing::StartsWith("module+0x"));
}

TEST_F(DebugFilesTest, ASymbolTableBeyondTheFileIsReported) {
  Run("strip -g -o bad whole");
  std::string bytes = ReadFile(Path("bad"));
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  bool is_found = false;
  for (int i = 0; i < header.e_shnum; ++i) {
    char* place = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    memcpy(&section, place, sizeof(section));
    if (section.sh_type != SHT_SYMTAB) continue;
    section.sh_offset = bytes.size();
    memcpy(place, &section, sizeof(section));
    is_found = true;
  }
  ASSERT_TRUE(is_found);
  WriteFileOrDie(Path("bad"), bytes);
  EXPECT_THAT(ProblemsOf("bad"),
              ElementsAre(HasSubstr("a symbol table does not lie within")));
}

TEST_F(DebugFilesTest, ADebugFileGivesTheSameNames) {
  Run("objcopy --only-keep-debug --compress-debug-sections=zstd whole "
      "whole.debug && strip -s -o bare whole "
      "&& objcopy --add-gnu-debuglink=whole.debug bare");
  EXPECT_TRUE(NamesOf("bare") == expected_);
  EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
  Run("echo >>whole.debug");
  EXPECT_THAT(ProblemsOf("bare"),
              ElementsAre(Path("whole.debug") +
                          ": is of another build: its checksum is not that of "
                          ".gnu_debuglink"));
}

// Also one that has DWARF, but of another build: its lines would be wrong.
TEST_F(DebugFilesTest, ADebugFileByBuildIdIsCheckedForIt) {
  Run("strip -s -o bare whole && mkdir -p $(dirname debug/" + IdPath("whole") +
      ")");
  Run("cp " + ProgramPath("templates_clang4") + " debug/" + IdPath("whole"));
  EXPECT_THAT(ProblemsOf("bare"),
              ElementsAre(HasSubstr("is of another build: its build id")));
  Run("objcopy --only-keep-debug whole debug/" + IdPath("whole"));
  EXPECT_TRUE(NamesOf("bare") == expected_);
  EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
}

// Where it lies at the program's path, on another machine than the program.
TEST_F(DebugFilesTest, AddressesInADebugFileAreThoseOfTheProgram) {
  for (const char* program : {"templates_gcc5", "plt_lld"}) {
    SCOPED_TRACE(program);
    Copy(program, "whole");
    Run("objcopy --only-keep-debug whole only.debug");
    const auto whole = ModuleTables::Open(Path("whole"), "", nullptr);
    const auto debug = ModuleTables::Open(Path("only.debug"), "", nullptr);
    ASSERT_TRUE(whole.ok() && debug.ok());
    Profile profile;
    const Mapping text = MapExecutable(profile, Path("whole"), 0);
    const uint64_t size = text.memory_limit - text.memory_start;
    for (uint64_t i = 0; i < size; i += 64) {
      const uint64_t offset = text.file_offset + i;
      for (const uint64_t start :
           {text.file_offset, text.file_offset & ~uint64_t{4095}}) {
        ASSERT_EQ((*debug)->AddressOf(offset, start),
                  (*whole)->AddressOf(offset, start));
      }
    }
  }
}

TEST_F(DebugFilesTest, ADebugFileHidesNoSymbol) {
  Copy("exported", "whole");
  Run("objcopy --only-keep-debug --strip-symbol=exported whole whole.debug"
      " && strip -s -o bare whole"
      " && objcopy --add-gnu-debuglink=whole.debug bare");
  EXPECT_EQ(NameAt("bare", "exported", "whole"), "exported :0");  // .dynsym
  EXPECT_EQ(NameAt("bare", "hidden_first", "whole"), "hidden_first :0");
}

TEST_F(DebugFilesTest, MiniDebugInfoNamesWhatIsNotExported) {
  Copy("exported", "whole");
  Run("objcopy --only-keep-debug --keep-symbol=hidden_first "
      "--keep-symbol=hidden_second -S --remove-section=.comment whole mini"
      " && xz -k mini && strip -s -o bare whole"
      " && objcopy --add-section .gnu_debugdata=mini.xz bare");
  EXPECT_EQ(NameAt("bare", "hidden_first", "whole"), "hidden_first :0");
  EXPECT_EQ(NameAt("bare", "hidden_second", "whole"), "hidden_second :0");
  EXPECT_EQ(NameAt("bare", "exported", "whole"), "exported :0");
  EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
}

TEST_F(DebugFilesTest, DamagedMiniDebugInfoIsReportedAndIgnored) {
  Copy("exported", "whole");
  Run("head -c 5000 /dev/urandom >noise && strip -s -o bare whole"
      " && objcopy --add-section .gnu_debugdata=noise bare");
  EXPECT_EQ(NameAt("bare", "exported", "whole"), "exported :0");
  EXPECT_THAT(ProblemsOf("bare"),
              ElementsAre(Path("bare") + ": .gnu_debugdata is damaged: its "
                                         "symbols are missing"));
}

// Two files with the same functions, as dwz treats a package's.
TEST_F(DebugFilesTest, WhatDwzSharedGivesTheSameNames) {
  Run("cp whole other && dwz -m common whole other");
  EXPECT_TRUE(NamesOf("whole") == expected_);
  EXPECT_THAT(ProblemsOf("whole"), IsEmpty());
  Run("objcopy --compress-debug-sections=zstd common");
  EXPECT_TRUE(NamesOf("other") == expected_);
  Run("mv common gone");
  EXPECT_THAT(ProblemsOf("whole"),
              ElementsAre(Path("whole") + ": the file common that it shares "
                                          "with others is missing"));
}

}  // namespace
}  // namespace unspool::exporters
