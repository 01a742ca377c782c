// addr2line as the judge of names, inlined chains and lines, over whole
// programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/frame_names.h"
#include "exporters/symbolizer/module_names.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

// Per address: "name file:line" of each frame, innermost first.
using Chains = std::map<uint64_t, std::vector<std::string>>;

// The file without its folder: the two spell "..".
std::string FrameText(std::string_view name, std::string_view file,
                      const std::string& line) {
  return std::string(name) + " " + std::string(BaseName(file)) + ":" + line;
}

Chains ByAddr2line(const std::string& path,
                   const std::vector<uint64_t>& addresses) {
  std::ostringstream input;
  for (uint64_t address : addresses) input << std::hex << address << '\n';
  const CommandResult result =
      RunCommand("addr2line -aif -e " + path, input.str());
  Chains chains;
  std::vector<std::string>* chain = nullptr;
  std::string name;
  for (std::string line : SplitLines(result.out)) {
    if (line.starts_with("0x")) {
      chain = &chains[std::stoull(line, nullptr, 16)];
    } else if (name.empty()) {
      name = line;
    } else {
      line = line.substr(0, line.find(" (discriminator"));
      const size_t colon = line.rfind(':');
      std::string number = line.substr(colon + 1);
      if (number == "?") number = "0";
      chain->push_back(FrameText(name, line.substr(0, colon), number));
      name.clear();
    }
  }
  return chains;
}

Chains ByUs(const std::string& path, const std::vector<uint64_t>& addresses) {
  Chains chains;
  const auto names = ModuleNames::Open(path, "");
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return chains;
  for (uint64_t address : addresses) {
    for (const NamedFrame& frame : (*names)->Find(address, "module")) {
      chains[address].push_back(FrameText(
          frame.system_name.empty() ? frame.name : frame.system_name,
          frame.file.empty() ? "??" : frame.file, std::to_string(frame.line)));
    }
  }
  return chains;
}

// The same, or the same with its namespaces and classes, which addr2line leaves
// out where there is no linkage name.
bool IsSame(const std::string& theirs, const std::string& ours) {
  return theirs == ours || ours.ends_with("::" + theirs);
}

// Whether a frame that differs otherwise is one of these:
// - C++ without a linkage name: addr2line may say the name of the function
//   around it. Parts that were moved away (".cold") it calls by their symbol.
// - Code without lines: it says the file that the symbol table was made from.
// - Where a template was instantiated it may take the unit's file for the
//   line's.
// In all of them the lines are equal.
bool IsExplained(const std::string& theirs, const std::string& ours) {
  return theirs.substr(theirs.rfind(':')) == ours.substr(ours.rfind(':'));
}

class Addr2lineTest : public testing::TestWithParam<const char*> {};

TEST_P(Addr2lineTest, AgreesOnEveryFrame) {
  const std::string path = ProgramPath(GetParam());
  const std::vector<uint64_t> addresses = FunctionAddresses(path, 7);
  ASSERT_GT(addresses.size(), 1000u);
  const Chains theirs = ByAddr2line(path, addresses);
  const Chains ours = ByUs(path, addresses);
  size_t equal = 0;
  size_t inlined = 0;
  for (const auto& [address, chain] : theirs) {
    const std::vector<std::string>& our_chain = ours.at(address);
    inlined += our_chain.size() > 1;
    ASSERT_EQ(chain.size(), our_chain.size()) << std::hex << address;
    bool all_same = true;
    for (size_t i = 0; i < chain.size(); ++i) {
      const bool same = IsSame(chain[i], our_chain[i]);
      all_same = all_same && same;
      EXPECT_TRUE(same || IsExplained(chain[i], our_chain[i]))
          << std::hex << address << " " << chain[i] << " / " << our_chain[i];
    }
    equal += all_same;
  }
  EXPECT_GT(inlined, addresses.size() / 4);
  EXPECT_GT(equal, addresses.size() * 98 / 100);
}

INSTANTIATE_TEST_SUITE_P(Compilers, Addr2lineTest,
                         testing::Values("templates_gcc5", "templates_clang4"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

}  // namespace
}  // namespace unspool::exporters
