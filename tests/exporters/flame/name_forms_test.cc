#include "exporters/flame/name_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unspool::exporters {
namespace {

using testing::ElementsAreArray;

TEST(NameForms, AreThoseOfThePage) {
  const struct {
    const char* name;
    std::vector<std::string> shorter;
  } rows[] = {
      {"main", {"main"}},
      {"libfoo.so+0x12af", {"+0x12af"}},
      {"a+0x", {"a+0x"}},
      {"std::vector<int, std::allocator<int> >::at(unsigned long)",
       {"std::vector::at", "at"}},
      {"void ns::run<int>(int) const", {"ns::run", "run"}},
      {"bool operator< <int>(int)", {"bool operator<"}},
      {"a::operator()(int)", {"a::operator()", "operator()"}},
      {"(anonymous namespace)::f(int)", {"(anonymous namespace)::f", "f"}},
      {"f(int) [clone .part.0]", {"f"}},
      {"ns::f() &", {"ns::f", "f"}},
      {"<core::option::Option<T> as Clone>::clone",
       {"<core::option::Option as Clone>::clone", "clone"}},
      {"open<ended::f(int", {"open<ended::f(int", "f(int"}},
      {"f(int (*)(std::function<int()> -> int))", {"f"}},
  };
  for (const auto& row : rows) {
    std::vector<std::string> expected = {row.name};
    expected.insert(expected.end(), row.shorter.begin(), row.shorter.end());
    EXPECT_THAT(NameForms(row.name), ElementsAreArray(expected));
  }
}

TEST(FitForm, TakesTheLongestThatHasRoom) {
  constexpr char kName[] = "ns::Ärger<int>::at(int)";
  EXPECT_EQ(FitForm(kName, 23), kName);
  EXPECT_EQ(FitForm(kName, 22), "ns::Ärger::at");
  EXPECT_EQ(FitForm(kName, 12), "at");
  EXPECT_EQ(FitForm(kName, 1), "at");
}

}  // namespace
}  // namespace unspool::exporters
