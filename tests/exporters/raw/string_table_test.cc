#include "exporters/raw/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace unspool::exporters::raw {
namespace {

std::string TextAt(const StringTable& table, uint32_t index) {
  const auto text = table[index];
  return {text.begin(), text.end()};
}

TEST(StringTable, EmptyTextIsZeroAndEachTextIsThereOnce) {
  StringTable table;
  EXPECT_EQ(table.Intern(""), 0u);
  EXPECT_EQ(table.Intern("a"), 1u);
  EXPECT_EQ(table.Intern("b"), 2u);
  EXPECT_EQ(table.Intern("a"), 1u);
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(TextAt(table, 2), "b");
}

TEST(StringTable, ManyTextsKeepTheirIndexes) {
  StringTable table;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 1; i <= 10'000; ++i) {
      EXPECT_EQ(table.Intern(std::to_string(i).c_str()), i);
    }
  }
  EXPECT_EQ(TextAt(table, 9'999), "9999");
}

// RFC 3629 §4 and §10.
TEST(StringTable, BytesThatAreNotUtf8BecomeQuestionMarks) {
  const struct {
    const char* name;
    std::string text;
    std::string expected;
  } kRows[] = {
      {"ASCII", "plain", "plain"},
      {"two bytes", "\xc3\xa9", "\xc3\xa9"},
      {"three bytes", "\xe2\x82\xac", "\xe2\x82\xac"},
      {"four bytes", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
      {"NUL", std::string("a\0b", 3), std::string("a\0b", 3)},
      {"cut off", "a\xe2\x82", "a??"},
      {"lone continuation", "\x80x", "?x"},
      {"wrong continuation", "\xc3x", "?x"},
      {"overlong slash", "\xc0\xaf", "??"},
      {"overlong of three", "\xe0\x80\xaf", "???"},
      {"overlong of four", "\xf0\x80\x80\xaf", "????"},
      {"surrogate", "\xed\xa0\x80", "???"},
      {"last code point", "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"above the last", "\xf4\x90\x80\x80", "????"},
      {"never a byte", "\xff\xfe", "??"},
      {"latin-1 in between", "a\xe9z", "a?z"},
  };
  for (const auto& row : kRows) {
    StringTable table;
    EXPECT_EQ(TextAt(table, table.Intern(row.text)), row.expected) << row.name;
  }
}

}  // namespace
}  // namespace unspool::exporters::raw
