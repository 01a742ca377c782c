#include "exporters/symbolizer/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace unspool::exporters {
namespace {

TEST(Demangle, WritesNamesAsPeopleDo) {
  const struct {
    const char* symbol;
    const char* name;
  } kRows[] = {
      {"_ZN5chain5outieEl", "chain::outie(long)"},
      {"_ZNSt6vectorIiSaIiEE9push_backEOi",
       "std::vector<int, std::allocator<int> >::push_back(int&&)"},
      {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"},
      {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
      {"_ZN3FooC4Ev", "Foo::Foo()"},  // DWARF's name for both constructors
      {"_Z1fv.constprop.0", "f() [clone .constprop.0]"},
      {"_ZN3fooB5cxx11Ev", "foo[abi:cxx11]()"},
      {"main", "main"},
      {"f", "f"},  // as a type it would be float
      {"memcpy.part.0", "memcpy.part.0"},
      {"_Z", "_Z"},
      {"_Z1", "_Z1"},
      {"", ""},
  };
  for (const auto& [symbol, name] : kRows) EXPECT_EQ(Demangle(symbol), name);
}

TEST(Demangle, LeavesVeryLongNamesAsTheyAre) {
  const std::string name(kMaxMangledSize - 7, 'a');
  const std::string longest = "_Z" + std::to_string(name.size()) + name + "v";
  ASSERT_EQ(longest.size(), kMaxMangledSize);
  EXPECT_EQ(Demangle(longest), name + "()");
  EXPECT_EQ(Demangle(longest + "i"), longest + "i");
}

}  // namespace
}  // namespace unspool::exporters
