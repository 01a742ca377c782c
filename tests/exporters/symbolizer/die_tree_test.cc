// libdw's own walk, from parent to child and from sibling to sibling, as the
// judge of ours by bytes; and damaged units, which must only end early.

#include "exporters/symbolizer/die_tree.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "exporters/symbolizer/dwarf_handle.h"
#include "exporters/symbolizer/dwarf_sections.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"
#include "unwind/load/elf_file.h"

namespace unspool::exporters {
namespace {

// Offset, depth, has a name, a linkage name, code.
using Shape = std::tuple<Dwarf_Off, uint32_t, bool, bool, bool>;

bool Has(Dwarf_Die* die, unsigned name) {
  return dwarf_hasattr(die, name) != 0;
}

void AddByLibdw(Dwarf_Die* parent, uint32_t depth, std::vector<Shape>* shapes) {
  Dwarf_Die die;
  if (dwarf_child(parent, &die) != 0) return;
  do {
    shapes->emplace_back(dwarf_dieoffset(&die), depth, Has(&die, DW_AT_name),
                         Has(&die, DW_AT_linkage_name),
                         Has(&die, DW_AT_low_pc) || Has(&die, DW_AT_ranges));
    AddByLibdw(&die, depth + 1, shapes);
  } while (dwarf_siblingof(&die, &die) == 0);
}

std::vector<Shape> ByUs(Dwarf_Die* unit) {
  std::vector<Shape> shapes;
  DieTree tree(unit);
  for (DieTree::Entry entry; tree.Next(&entry);) {
    shapes.emplace_back(dwarf_dieoffset(&entry.die), entry.depth,
                        entry.has_name, entry.has_linkage_name, entry.has_code);
  }
  return shapes;
}

// Calls use(unit DIE) for each unit that libdw finds.
template <typename Use>
void ForEachUnit(std::span<const DwarfSection> sections, Use use) {
  const DwarfHandle handle(sections);
  Dwarf_CU* cu = nullptr;
  Dwarf_Die die;
  while (handle.get() != nullptr &&
         dwarf_get_units(handle.get(), cu, &cu, nullptr, nullptr, &die,
                         nullptr) == 0) {
    use(&die);
  }
}

class DieTreeTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    bytes_ = ReadFile(ProgramPath(GetParam()));
    ASSERT_EQ(elf_.Parse({reinterpret_cast<const uint8_t*>(bytes_.data()),
                          bytes_.size()}),
              unwind::ElfError::kNone);
    ASSERT_TRUE(sections_.Load(elf_).ok());
  }

  std::string bytes_;
  unwind::ElfFile elf_;
  DwarfSections sections_;
};

TEST_P(DieTreeTest, HasTheDiesThatLibdwFindsInTheirOrder) {
  size_t count = 0;
  ForEachUnit(sections_.list(), [&](Dwarf_Die* unit) {
    std::vector<Shape> by_libdw;
    AddByLibdw(unit, 1, &by_libdw);
    EXPECT_EQ(ByUs(unit), by_libdw);
    count += by_libdw.size();
  });
  EXPECT_GT(count, 100u);
}

TEST_P(DieTreeTest, EndsWhereAUnitIsDamaged) {
  const auto whole = sections_.Find(".debug_info");
  const auto abbreviations = sections_.Find(".debug_abbrev");
  std::mt19937_64 random(1);
  size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<uint8_t> info(whole.begin(), whole.end());
    std::vector<uint8_t> abbrev(abbreviations.begin(), abbreviations.end());
    std::vector<uint8_t>& damaged = i % 2 == 0 ? info : abbrev;
    for (int n = 0; n < 5; ++n) {
      damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    }
    std::vector<DwarfSection> sections(sections_.list().begin(),
                                       sections_.list().end());
    for (DwarfSection& section : sections) {
      if (section.bytes.data() == whole.data()) section.bytes = info;
      if (section.bytes.data() == abbreviations.data()) section.bytes = abbrev;
    }
    size_t count = 0;
    ForEachUnit(sections, [&](Dwarf_Die* unit) { count += ByUs(unit).size(); });
    // Each has at least a byte of its own.
    EXPECT_LE(count, whole.size());
    most = std::max(most, count);
  }
  EXPECT_GT(most, 100u);
}

INSTANTIATE_TEST_SUITE_P(
    Builds, DieTreeTest,
    testing::Values("templates_gcc2", "templates_gcc4", "templates_gcc5",
                    "templates_gcc4_64", "templates_gcc5_64",
                    "templates_clang4", "templates_clang5",
                    "templates_clang5_64", "templates_clang_gmlt"),
    [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace unspool::exporters
