// Stubs of every linker have the names that objdump gives them.

#include "exporters/symbolizer/plt_stubs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "exporters/symbolizer/module_names.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {
namespace {

using testing::_;
using testing::Contains;
using testing::Each;
using testing::EndsWith;
using testing::Pair;

std::string NameAt(ModuleNames& names, uint64_t address) {
  return names.Find(address, "module")[0].name;
}

// "0000000000001030 <operator new(unsigned long)@plt>:"
std::map<uint64_t, std::string> StubsByObjdump(const std::string& path) {
  std::map<uint64_t, std::string> stubs;
  const CommandResult listed = RunCommand(
      "objdump -dC -j .plt -j .plt.sec -j .plt.got " + path + " 2>&1");
  for (const std::string& line : SplitLines(listed.out)) {
    const size_t start = line.find(" <");
    if (start == line.npos || !line.ends_with("@plt>:")) continue;
    stubs[std::stoull(line, nullptr, 16)] =
        line.substr(start + 2, line.size() - start - 4);
  }
  return stubs;
}

class PltStubsTest : public testing::TestWithParam<const char*> {};

TEST_P(PltStubsTest, HaveTheNamesThatObjdumpGivesThem) {
  const std::string path = ProgramPath(GetParam());
  const auto names = ModuleNames::Open(path, "");
  ASSERT_TRUE(names.ok()) << names.status();
  const auto stubs = StubsByObjdump(path);
  EXPECT_THAT(stubs, Contains(Pair(_, "strlen@plt")));
  EXPECT_THAT(stubs, Contains(Pair(_, "operator new(unsigned long)@plt")));
  for (const auto& [address, name] : stubs) {
    for (const uint64_t offset : {0, 5}) {
      EXPECT_EQ(NameAt(**names, address + offset), name) << std::hex << address;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Linkers, PltStubsTest,
                         testing::Values("plt_lazy", "plt_now", "plt_ibt",
                                         "plt_no_pie", "plt_gold", "plt_lld"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

// Before a function is bound its call goes on from .plt.sec to .plt, which
// objdump leaves without names.
TEST(PltStubs, HaveNamesWhereCallsAreBoundLateToo) {
  const std::string path = ProgramPath("plt_ibt");
  const auto names = ModuleNames::Open(path, "");
  ASSERT_TRUE(names.ok());
  const auto stubs = StubsByObjdump(path);
  unwind::MappedFile file;
  unwind::ElfFile elf;
  ASSERT_EQ(file.Open(path.c_str()), 0);
  ASSERT_EQ(elf.Parse(file.bytes()), unwind::ElfError::kNone);
  const auto late = elf.FindSection(".plt");
  const auto bound = elf.FindSection(".plt.sec");
  ASSERT_TRUE(late && bound);
  ASSERT_EQ(late->sh_size, bound->sh_size + 16);
  for (uint64_t at = 0; at < bound->sh_size; at += 16) {
    EXPECT_EQ(NameAt(**names, late->sh_addr + 16 + at),
              stubs.at(bound->sh_addr + at));
  }
  // The first is nobody's.
  EXPECT_THAT(NameAt(**names, late->sh_addr), testing::StartsWith("module+0x"));
}

// A static program's stubs lead to what a resolver of libc chose: the resolver
// has the function's name.
TEST(PltStubs, OfStaticProgramsAreCalledByTheResolver) {
  const std::string path = ProgramPath("plt_static");
  const auto names = ModuleNames::Open(path, "");
  ASSERT_TRUE(names.ok());
  unwind::MappedFile file;
  unwind::ElfFile elf;
  ASSERT_EQ(file.Open(path.c_str()), 0);
  ASSERT_EQ(elf.Parse(file.bytes()), unwind::ElfError::kNone);
  const auto section = elf.FindSection(".plt");
  ASSERT_TRUE(section);
  std::vector<std::string> found;
  for (uint64_t at = 0; at < section->sh_size; at += section->sh_addralign) {
    found.push_back(NameAt(**names, section->sh_addr + at));
  }
  EXPECT_THAT(found, Contains("strlen@plt"));
  EXPECT_THAT(found, Each(EndsWith("@plt")));
  std::ranges::sort(found);
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
}

}  // namespace
}  // namespace unspool::exporters
