#include "exporters/short_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporters/frame_names.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

TEST(ShortNames, TemplateArgumentsAreElided) {
  const struct {
    const char* name;
    const char* expected;
  } kRows[] = {
      {"f<int>", "f<..>"},
      {"std::vector<int, std::allocator<int> >::push_back(int&&)",
       "std::vector<..>::push_back(int&&)"},
      {"std::pair<int, int> g<long>(std::map<int, int> const&) [clone .cold]",
       "std::pair<..> g<..>(std::map<..> const&) [clone .cold]"},
      {"void operator<< <int>(int)", "void operator<< <..>(int)"},
      {"bool a::operator< <a::T>(a::T, a::T)",
       "bool a::operator< <..>(a::T, a::T)"},
      {"a::T::operator()<int>(int)", "a::T::operator()<..>(int)"},
      {"a::T<int>::operator->()", "a::T<..>::operator->()"},
      {"a::T<int>::operator std::vector<int>()",
       "a::T<..>::operator std::vector<..>()"},
      {"h<((1)>(0)), (char)60>()", "h<..>()"},
      {"h<&(operator<(int, int))>()", "h<..>()"},
      {"decltype ((p)->q) i<A>(A*)", "decltype ((p)->q) i<..>(A*)"},
      {"f<int>()::{lambda(auto:1)#1}::operator()<long>(long) const",
       "f<..>()::{lambda(auto:1)#1}::operator()<..>(long) const"},
      {"x<(anonymous namespace)::T>::y()", "x<..>::y()"},
      // Rust, v0 and legacy.
      {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
       "<alloc::vec::Vec<..> as core::ops::Drop>::drop"},
      {"core::iter::map_fold::<i32, u8>::{closure#0}",
       "core::iter::map_fold::<..>::{closure#0}"},
      {"core::mem::swap::<&str>", "core::mem::swap::<..>"},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(ElideArguments(row.name, '<'), row.expected);
  }
}

TEST(ShortNames, OtherNamesStayAsTheyAre) {
  for (const char* name : {"",
                           "main",
                           "operator<(a, b)",
                           "operator<<(a, b)",
                           "operator<=>(a)",
                           "operator->",
                           "operator>>(a, b)",
                           "LMain;::<init>",
                           "<unknown>",
                           "py::<module>:/a/b.py",
                           "py::f.<locals>.g:/a.py",
                           "[unknown]",
                           "f<int",
                           "f<(int>",
                           "a<b<c<d",
                           "JS:*<anonymous> /a.js:1:2",
                           "<A as B>::f",
                           "f>",
                           "f)",
                           "<",
                           ">"}) {
    EXPECT_EQ(ElideArguments(name, '<'), name);
  }
}

TEST(ShortNames, ALongNameTakesTimeInProportionToItsLength) {
  constexpr int kCount = 200'000;
  std::string opened;
  std::string looks_like_rust;
  std::string nested = "f";
  for (int i = 0; i < kCount; ++i) {
    opened += "a<";
    looks_like_rust += "a::<";
    nested += "<f";
  }
  for (int i = 0; i < kCount; ++i) {
    looks_like_rust += ">;";
    nested += ">";
  }
  EXPECT_EQ(ElideArguments(opened, '<'), opened);
  EXPECT_EQ(ElideArguments(looks_like_rust, '<'), looks_like_rust);
  EXPECT_EQ(ElideArguments(nested, '<'), "f<..>");
}

TEST(ShortNames, FunctionsThatDifferByTheirTemplateArgumentsAreShownAsOne) {
  NamedProfile profile;
  profile.Add("f<int> < main", 1, 10);
  profile.Add("f<long> < main", 2, 20);
  ShortenTemplates(&profile.get());
  const FrameNames names(profile.get());
  std::vector<std::string> leaves;
  for (size_t i = 0; i < profile.get().sample_count(); ++i) {
    const uint32_t leaf = profile.get().sample(i).locations[0];
    leaves.emplace_back(names.name(names.frames(leaf)[0]));
  }
  EXPECT_EQ(leaves, std::vector<std::string>(2, "f<..>"));
  EXPECT_EQ(names.size(), StringTable().size() + 2);  // and main
}

}  // namespace
}  // namespace unspool::exporters
