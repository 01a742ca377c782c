// Which name code has that has several: identical functions that a linker
// folded, and aliases.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/symbolizer/module_names.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

NamedFrame FrameAt(const std::string& path, uint64_t address) {
  const auto names = ModuleNames::Open(path, "");
  EXPECT_TRUE(names.ok()) << names.status();
  return (*names)->Find(address, "module").back();
}

// The line of identical.cc where the definition of a function begins.
int64_t DefinitionLine(std::string_view name) {
  const std::vector<std::string> lines =
      SplitLines(ReadFile(std::string(UNSPOOL_TEST_SOURCES) + "/identical.cc"));
  const auto line = std::ranges::find_if(lines, [&](const std::string& text) {
    return text.find(" " + std::string(name) + "(long x) {") != text.npos;
  });
  return line - lines.begin() + 1;
}

// "(anonymous namespace)::a_local(long)" is a_local; where DWARF has no linkage
// name there are no parameters.
std::string_view PlainName(std::string_view name) {
  if (name.ends_with(')')) name = name.substr(0, name.rfind('('));
  name = name.substr(0, name.find('<'));
  return name.substr(name.rfind(':') + 1);
}

class IdenticalCodeTest : public testing::TestWithParam<const char*> {};

TEST_P(IdenticalCodeTest, WithoutDwarfHasTheBestSymbol) {
  const std::string path = ProgramPath("identical_" + std::string(GetParam()));
  EXPECT_EQ(FrameAt(path, SymbolAddress(path, "z_global") + 1).name,
            SymbolAddress(path, "alias") == SymbolAddress(path, "z_global")
                ? "alias"  // shorter
                : "z_global");
  EXPECT_EQ(FrameAt(path, SymbolAddress(path, "longer_global") + 1).name,
            "alias");
}

TEST_P(IdenticalCodeTest, WithDwarfHasTheNameThatItsLinesBelongTo) {
  const std::string path =
      ProgramPath("identical_" + std::string(GetParam()) + "_debug");
  for (const char* symbol : {"z_global", "longer_global", "a_weak", "alias"}) {
    const NamedFrame frame = FrameAt(path, SymbolAddress(path, symbol) + 1);
    EXPECT_EQ(frame.start_line, DefinitionLine(PlainName(frame.name)))
        << frame.name << " for " << symbol;
  }
}

INSTANTIATE_TEST_SUITE_P(Linkers, IdenticalCodeTest,
                         testing::Values("gcc_bfd", "gcc_gold", "gcc_lld",
                                         "clang_gold", "clang_lld"),
                         [](const auto& test) { return test.param; });

// gold leaves the debug data of all functions that it folded.
TEST(IdenticalCode, OfSeveralFunctionsInDwarfHasTheBestSymbols) {
  for (const char* name :
       {"identical_gcc_gold_debug", "identical_clang_gold_debug"}) {
    const std::string path = ProgramPath(name);
    const uint64_t address = SymbolAddress(path, "z_global");
    ASSERT_EQ(SymbolAddress(path, "longer_global"), address);
    ASSERT_EQ(SymbolAddress(path, "a_weak"), address);
    EXPECT_EQ(FrameAt(path, address + 1).name, "z_global");
  }
}

}  // namespace
}  // namespace unspool::exporters
