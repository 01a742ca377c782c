#include "exporters/symbolizer/dwp_index.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace unspool::exporters {
namespace {

// Ids that fall into the same slot of four, with different steps from there.
constexpr uint64_t kFirst = 0x0000000100000002;
constexpr uint64_t kSecond = 0x0000000300000006;
constexpr uint64_t kAbsent = 0x000000010000000a;

// Two units, in sections info, abbreviations, one that names do not need, and
// section 8.
struct Index {
  uint32_t header[4] = {5, 4, 2, 4};
  uint64_t ids[4] = {0, kSecond, kFirst, 0};
  uint32_t rows[4] = {0, 2, 1, 0};
  uint32_t sections[4] = {1, 3, 5, 8};
  uint32_t offsets[2][4] = {{0, 10, 20, 30}, {100, 110, 120, 130}};
  uint32_t sizes[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};

  std::vector<uint8_t> Bytes() const {
    std::vector<uint8_t> bytes(sizeof(*this));
    memcpy(bytes.data(), this, sizeof(*this));
    return bytes;
  }
};

std::string Find(const std::vector<uint8_t>& bytes, uint64_t id) {
  DwpIndex index;
  if (!index.Parse(bytes)) return "bad";
  const auto parts = index.Find(id);
  if (!parts) return "none";
  std::string text;
  for (const DwpPart& part : *parts) {
    text += std::string(part.section) + "@" + std::to_string(part.offset) +
            "+" + std::to_string(part.size) + " ";
  }
  return text;
}

TEST(DwpIndex, FindsTheUnitsParts) {
  const std::vector<uint8_t> bytes = Index().Bytes();
  EXPECT_EQ(Find(bytes, kFirst),
            ".debug_info@0+1 .debug_abbrev@10+2 .debug_rnglists@30+4 ");
  EXPECT_EQ(Find(bytes, kSecond),
            ".debug_info@100+5 .debug_abbrev@110+6 .debug_rnglists@130+8 ");
  EXPECT_EQ(Find(bytes, kAbsent), "none");
}

// Where section 8 is one of macros.
TEST(DwpIndex, ReadsTheGnuForm) {
  Index index;
  index.header[0] = 2;
  EXPECT_EQ(Find(index.Bytes(), kFirst), ".debug_info@0+1 .debug_abbrev@10+2 ");
}

TEST(DwpIndex, RefusesMalformedHeaders) {
  struct Row {
    size_t word;
    uint32_t value;
  };
  const std::vector<Row> rows = {
      {0, 1}, {0, 6}, {1, 9}, {1, 5}, {2, 3},
      {2, 5}, {3, 0}, {3, 3}, {3, 8}, {3, 0x80000000},
  };
  for (const Row& row : rows) {
    Index index;
    index.header[row.word] = row.value;
    EXPECT_EQ(Find(index.Bytes(), kFirst), "bad") << row.word << row.value;
  }
  const std::vector<uint8_t> bytes = Index().Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(
        Find({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)},
             kFirst),
        "bad");
  }
}

TEST(DwpIndex, EndsWithoutAFreeSlotAndWithARowThatIsNone) {
  Index full;
  full.ids[0] = full.ids[3] = 77;
  full.rows[0] = full.rows[3] = 1;
  EXPECT_EQ(Find(full.Bytes(), kAbsent), "none");
  Index wrong;
  wrong.rows[2] = 3;
  EXPECT_EQ(Find(wrong.Bytes(), kFirst), "none");
}

}  // namespace
}  // namespace unspool::exporters
