#include "exporters/text_style.h"

#include <gtest/gtest.h>

#include <string>

namespace unspool::exporters {
namespace {

TEST(FitName, GivesUpWhatTellsLeastFirst) {
  const struct {
    const char* name;
    size_t width;
    const char* fitted;
  } kRows[] = {
      {"main", 10, "main"},
      {"std::map<int, int>::at(int const&) const", 0,
       "std::map<int, int>::at(int const&) const"},
      {"std::map<int, int>::at(int const&) const", 40,
       "std::map<int, int>::at(int const&) const"},
      {"std::map<int, int>::at(int const&) const", 35,
       "std::map<int, int>::at(..) const"},
      {"std::map<int, int>::at(int const&) const", 30,
       "std::map<..>::at(..) const"},
      {"std::map<int, int>::at(int const&) const", 20, "..at(..) const"},
      {"std::map<int, int>::at(int const&) const", 10, "..at const"},
      {"void std::sort<int*, bool (*)(int)>(int*, int*)", 20,
       "std::sort<..>(..)"},
      {"(anonymous namespace)::Run(std::string)", 32,
       "(anonymous namespace)::Run(..)"},
      {"bool a::operator<(a::T const&, a::T const&)", 25,
       "bool a::operator<(..)"},
      {"a::T::operator()(long, long) const", 26, "a::T::operator()(..) const"},
      {"a::T::operator->() const", 20, "..operator->() const"},
      {"f<(a > b), (g->h)>(int, int, int, int)", 17, "f<(..), (..)>(..)"},
      {"f<(a > b), (g->h)>(int, int, int, int)", 12, "f<..>(..)"},
      {"libx.so+0x1234567890", 12, "libx...67890"},
      {"f(int, int) /src/deep/file.c:12", 22, "f(int, int) file.c:12"},
      {"f(int, int) ./deep/file.c:12", 16, "f(..) file.c:12"},
      {"f memmove-vec-unaligned.S:352", 20, "f memmov..gned.S:352"},
      {"memmove_evex_erms memmove-vec-unaligned.S:352", 30,
       "memmov..ex_erms memm..ed.S:352"},
      {"allocate_a_page arena.c:9", 20, "allo..page arena.c:9"},
      {"f(int) f.c:123456", 4, "f f.c:123456"},
      {"<<<<((((>", 6, "<<..(>"},
      {"a\x1b[31mb", 0, "a?[31mb"},
      {"\xc3\xa9\xc3\xa9\xc3\xa9", 3, "\xc3\xa9\xc3\xa9\xc3\xa9"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(FitName(row.name, row.width), row.fitted);
  }
}

TEST(FitName, ALongHostileNameEnds) {
  for (const char c : {'<', '(', ':', ' '}) {
    EXPECT_LE(FitName(std::string(3'000'000, c), 40).size(), 40u);
  }
}

TEST(Shade, OnlyWhereColourIsWanted) {
  EXPECT_EQ(Shade({}, 0.5, "f"), "f");
  const TextStyle color = {.width = 80, .rows = 0, .is_color = true};
  EXPECT_EQ(Shade(color, 0.5, "f"), "\033[1;31mf\033[0m");
  EXPECT_EQ(Shade(color, 0.05, "f"), "\033[1mf\033[0m");
  EXPECT_EQ(Shade(color, 0.005, "f"), "f");
  EXPECT_EQ(Shade(color, 0, "f"), "\033[2mf\033[0m");
}

}  // namespace
}  // namespace unspool::exporters
