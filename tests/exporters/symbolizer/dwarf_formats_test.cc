// llvm-symbolizer as the judge of every DWARF version, format and level of
// detail: 1,000 random addresses in the functions of each build.

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/frame_names.h"
#include "exporters/symbolizer/module_names.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

constexpr size_t kAddresses = 1000;

struct Frame {
  std::string name;   // mangled where it is
  std::string place;  // file, without its folder, and line
};
using Chain = std::vector<Frame>;  // innermost first

std::string Place(std::string_view file, std::string_view line) {
  return std::string(BaseName(file)) + ":" + std::string(line);
}

// In functions that have a size, the same every time.
std::vector<uint64_t> RandomAddresses(const std::string& path) {
  std::vector<std::pair<uint64_t, uint64_t>> functions;
  for (const std::string& line :
       SplitLines(RunCommand("nm -S --defined-only " + path).out)) {
    std::istringstream in(line);
    uint64_t start = 0;
    uint64_t size = 0;
    std::string type;
    if (in >> std::hex >> start >> size >> type && size > 0 &&
        type.find_first_of("tTwW") != std::string::npos) {
      functions.emplace_back(start, size);
    }
  }
  std::mt19937_64 random(1);
  std::vector<uint64_t> addresses;
  while (!functions.empty() && addresses.size() < kAddresses) {
    const auto& [start, size] = functions[random() % functions.size()];
    addresses.push_back(start + random() % size);
  }
  return addresses;
}

// A copy whose table of symbols is none: where there is a symbol, which may be
// one of a clone or any of several aliases, llvm-symbolizer takes it for
// DWARF's name.
std::string WithoutSymbols(const std::string& path) {
  std::string bytes = ReadFile(path);
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    char* type = &bytes[header.e_shoff + i * sizeof(Elf64_Shdr) +
                        offsetof(Elf64_Shdr, sh_type)];
    uint32_t value = 0;
    memcpy(&value, type, sizeof(value));
    if (value == SHT_SYMTAB || value == SHT_DYNSYM) *type = SHT_PROGBITS;
  }
  const std::string copy = TempPath("without_symbols");
  WriteFileOrDie(copy, bytes);
  return copy;
}

// A name and a place per frame, an empty line after each address.
std::vector<Chain> ByLlvm(const std::string& path,
                          const std::vector<uint64_t>& addresses) {
  std::ostringstream input;
  for (const uint64_t address : addresses) {
    input << "0x" << std::hex << address << '\n';
  }
  const CommandResult result = RunCommand(
      "llvm-symbolizer-14 --inlines --no-demangle --obj=" + path, input.str());
  std::vector<Chain> chains(1);
  const std::vector<std::string> lines = SplitLines(result.out);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) {
      chains.emplace_back();
    } else if (i + 1 < lines.size()) {
      const std::string name = lines[i++];
      const std::string place = lines[i].substr(0, lines[i].rfind(':'));
      const size_t colon = place.rfind(':');
      chains.back().push_back(
          {name, Place(place.substr(0, colon), place.substr(colon + 1))});
    }
  }
  return chains;
}

Chain ByUs(ModuleNames& names, uint64_t address) {
  Chain chain;
  for (const NamedFrame& frame : names.Find(address, "module")) {
    chain.push_back({frame.system_name.empty() ? frame.name : frame.system_name,
                     Place(frame.file.empty() ? "??" : frame.file,
                           std::to_string(frame.line))});
  }
  return chain;
}

// The same, or the same with its namespaces and classes, which llvm-symbolizer
// leaves out where there is no linkage name.
bool IsSameName(const std::string& theirs, const std::string& ours) {
  return theirs == ours || ours.ends_with("::" + theirs);
}

std::string Text(const Chain& chain) {
  std::string text;
  for (const Frame& frame : chain) {
    text += "  " + frame.name + " " + frame.place + "\n";
  }
  return text;
}

// The places are the same, and the names one of the two that llvm-symbolizer
// gives.
bool IsSame(const Chain& by_dwarf, const Chain& by_symbol, const Chain& ours) {
  if (ours.size() != by_dwarf.size() || ours.size() != by_symbol.size()) {
    return false;
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].place != by_dwarf[i].place ||
        (!IsSameName(by_dwarf[i].name, ours[i].name) &&
         !IsSameName(by_symbol[i].name, ours[i].name))) {
      return false;
    }
  }
  return true;
}

class DwarfFormatsTest : public testing::TestWithParam<const char*> {};

TEST_P(DwarfFormatsTest, GiveWhatLlvmSymbolizerGives) {
  const std::string path = ProgramPath(GetParam());
  const std::vector<uint64_t> addresses = RandomAddresses(path);
  ASSERT_EQ(addresses.size(), kAddresses);
  const std::string copy = WithoutSymbols(path);
  const std::vector<Chain> by_dwarf = ByLlvm(copy, addresses);
  const std::vector<Chain> by_symbol = ByLlvm(path, addresses);
  std::remove(copy.c_str());
  ASSERT_GE(std::min(by_dwarf.size(), by_symbol.size()), kAddresses);
  const auto names = ModuleNames::Open(path, "");
  ASSERT_TRUE(names.ok()) << names.status();
  size_t compared = 0;
  size_t inlined = 0;
  for (size_t i = 0; i < kAddresses; ++i) {
    if (by_dwarf[i].empty() || by_dwarf[i][0].name == "??")
      continue;  // the C startup
    const Chain ours = ByUs(**names, addresses[i]);
    EXPECT_TRUE(IsSame(by_dwarf[i], by_symbol[i], ours))
        << std::hex << addresses[i] << "\ntheirs:\n"
        << Text(by_dwarf[i]) << "ours:\n"
        << Text(ours);
    ++compared;
    inlined += ours.size() > 1;
  }
  EXPECT_GT(compared, kAddresses * 9 / 10);
  EXPECT_GT(inlined, kAddresses / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Builds, DwarfFormatsTest,
    testing::Values("templates_gcc2", "templates_gcc3", "templates_gcc4",
                    "templates_gcc5", "templates_gcc4_64", "templates_gcc5_64",
                    "templates_gcc_g1", "templates_clang4", "templates_clang5",
                    "templates_clang5_64", "templates_clang_gmlt"),
    [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace unspool::exporters
