#include "exporters/symbolizer/demangle.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/exporters/command.h"

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
      {"_ZN3fooB5cxx11Ev", "foo[abi:cxx11]()"},
      {"main", "main"},
      {"f", "f"},  // as a type it would be float
      {"memcpy.part.0", "memcpy.part.0"},
      {"_Z", "_Z"},
      {"_Z1", "_Z1"},
      {"", ""},
      // Rust, legacy and v0.
      {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
       "core::fmt::Formatter::pad"},
      {"_ZN49_$LT$a..B$u20$as$u20$c..D$LT$E$GT$$GT$$u5b$x$u5d$"
       "3bar17h930b740aa94f1d3aE",
       "<a::B as c::D<E>>[x]::bar"},
      {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
      {"_RINvC7mycrate3genTlAhj2_EE", "mycrate::gen::<(i32, [u8; 2])>"},
      {"_RNvB_1a", "_RNvB_1a"},  // refers to itself
      // D.
      {"_Dmain", "D main"},
      {"_D3app4Tree6insertMFNbiAyaZv",
       "app.Tree.insert(int, immutable(char)[])"},
      {"_D3app__T3maxTiZQhFNaiiZi", "app.max!(int).max(int, int)"},
      {"_Dragon", "_Dragon"},
  };
  for (const auto& [symbol, name] : kRows) EXPECT_EQ(Demangle(symbol), name);
}

TEST(Demangle, KeepsTheSuffixesOfClones) {
  const struct {
    const char* symbol;
    const char* name;
  } kRows[] = {
      {"_Z1fv.constprop.0", "f() [clone .constprop.0]"},
      {"_Z1fv.isra.0.cold", "f() [clone .isra.0] [clone .cold]"},
      {"_Z1fv.llvm.123", "f() [clone .llvm.123]"},
      {"_RNvC1a1b.llvm.77", "a::b [clone .llvm.77]"},
      {"_ZN1a1b17h0123456789abcdefE.llvm.77", "a::b [clone .llvm.77]"},
      {"_D3app1fFZv.part.0", "app.f() [clone .part.0]"},
  };
  for (const auto& [symbol, name] : kRows) EXPECT_EQ(Demangle(symbol), name);
}

TEST(Demangle, WritesLongNamesUpToItsLimit) {
  const std::string name(kMaxMangledSize - 7, 'a');
  const std::string longest = "_Z" + std::to_string(name.size()) + name + "v";
  ASSERT_EQ(longest.size(), kMaxMangledSize);
  EXPECT_EQ(Demangle(longest), name + "()");
  EXPECT_EQ(Demangle(longest + "i"), longest + "i");
  const std::string huge(65536, 'a');
  EXPECT_EQ(Demangle("_Z65536" + huge + "v"), "_Z65536" + huge + "v");
}

// A number as C++ and Rust write it in references: "_" is 0, "0_" is 1, ….
std::string Base(std::string_view digits, size_t number) {
  std::string text = "_";
  if (number == 0) return text;
  for (size_t rest = number - 1;; rest /= digits.size()) {
    text.insert(0, 1, digits[rest % digits.size()]);
    if (rest < digits.size()) return text;
  }
}

constexpr std::string_view kBase36 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kBase62 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// f(a<int, int>, a<a<int, int>, a<int, int> >, …): each argument is twice the
// one before.
std::string DoublingCpp(size_t levels) {
  std::string symbol = "_Z1f1aIiiE";
  for (size_t level = 1; level <= levels; ++level) {
    const std::string last = "S" + Base(kBase36, level);
    symbol += "S_I" + last + last + "E";
  }
  return symbol;
}

std::string DoublingRust(size_t levels) {
  std::string symbol = "_RIC1aTccE";
  size_t last = 4;  // counted from behind "_R"
  for (size_t level = 0; level < levels; ++level) {
    const std::string reference = "B" + Base(kBase62, last);
    last = symbol.size() - 2;
    symbol += "T" + reference + reference + "E";
  }
  return symbol + "E";
}

// Associative arrays of the last one by the last one; the references are
// distances, of one digit here.
std::string DoublingD(size_t levels) {
  std::string symbol = "_D1aFHii";
  size_t last = 5;
  for (size_t level = 0; level < levels; ++level) {
    const size_t here = symbol.size();
    symbol += 'H';
    for (int i = 0; i < 2; ++i) {
      symbol += {'Q', static_cast<char>('a' + (symbol.size() - last))};
    }
    last = here;
  }
  return symbol + "Zv";
}

// Names of 2^40 characters: without limits this test would not end.
TEST(Demangle, LeavesWhatWouldGrowWithoutBoundAsItIs) {
  EXPECT_EQ(Demangle(DoublingCpp(1)),
            "f(a<int, int>, a<a<int, int>, a<int, int> >)");
  EXPECT_EQ(Demangle(DoublingRust(1)),
            "a::<(char, char), ((char, char), (char, char))>");
  EXPECT_EQ(Demangle(DoublingD(1)), "a(int[int], int[int][int[int]])");
  for (size_t levels : {40, 300}) {
    for (const std::string& symbol :
         {DoublingCpp(levels), DoublingRust(levels), DoublingD(levels),
          // A pack is searched for in all of it before anything is printed.
          DoublingCpp(levels) + "DpS" + Base(kBase36, levels)}) {
      EXPECT_EQ(Demangle(symbol), symbol);
    }
  }
}

std::string Repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Different templates, by different references to the template's parameters.
std::string ManyPairs(size_t count) {
  std::string symbol = "_Z1fI" + Repeated("1aIiE", count) + "EvT_";
  for (size_t i = 0; i < count; ++i) symbol += "RT" + Base(kBase36, i);
  return symbol;
}

// Runs Demangle with no more stack than it says that it needs; a test that
// overruns it crashes.
std::string DemangleOnItsStack(const std::string& symbol) {
  std::pair<std::string, std::string> call(symbol, "");
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, kDemangleStackBytes), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(
                &thread, &attributes,
                [](void* pair) -> void* {
                  auto* both =
                      static_cast<std::pair<std::string, std::string>*>(pair);
                  both->second = Demangle(both->first);
                  return nullptr;
                },
                &call),
            0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  return call.second;
}

// Whatever it is nested by, at each depth up to where it is refused.
TEST(Demangle, NeedsNoMoreStackThanItSays) {
  for (size_t depth = 100; depth < 1700; depth += 100) {
    for (const std::string& symbol :
         {"_Z1f" + Repeated("P", depth) + "v",
          "_Z1fPF" + Repeated("vPF", depth) + "vvE" + Repeated("E", depth),
          "_Z1f" + Repeated("1aI", depth) + "v" + Repeated("E", depth),
          "_ZN" + Repeated("1aI", depth) + "v" + Repeated("E", depth + 1) + "v",
          "_Z1fIXng" + Repeated("ng", depth) + "Li1EEEvv",
          "_Z1fIX" + Repeated("pl", depth) + "Li1E" + Repeated("Li1E", depth) +
              "EEvv",
          Repeated("_ZZ", 1) + Repeated("Z", depth) + "1fv" +
              Repeated("E1gv", depth + 1),
          "_RI1a" + Repeated("R", depth) + "uE",
          "_RIC1a" + Repeated("R", depth) + "uE",
          "_RIC1a" + Repeated("T", depth) + "u" + Repeated("E", depth + 1),
          "_R" + Repeated("NvNt", depth) + "C1a" + Repeated("1b1c", depth),
          "_D1aF" + Repeated("P", depth) + "iZv",
          "_D1aF" + Repeated("PF", depth) + "i" + Repeated("Zv", depth + 1),
          "_D3app" + Repeated("__T1aTS", depth) + "1b" + Repeated("Z", depth),
          ManyPairs(depth)}) {
      if (symbol.size() <= kMaxMangledSize) DemangleOnItsStack(symbol);
    }
  }
  EXPECT_EQ(DemangleOnItsStack(ManyPairs(500)), ManyPairs(500));
}

TEST(Demangle, LeavesWhatIsNestedTooDeepAsItIs) {
  for (const std::string& symbol :
       {"_Z1f" + Repeated("P", 8000) + "v",
        "_ZN" + Repeated("1aI", 2000) + "v" + Repeated("E", 2001) + "v",
        "_Z1f" + Repeated("Dp", 3000) + "T_",
        "_Z1fI" + Repeated("J", 3000) + Repeated("E", 3001) + "vv",
        "_R" + Repeated("NvB_", 1500) + "1a"}) {
    EXPECT_EQ(Demangle(symbol), symbol);
  }
}

TEST(Demangle, AgreesWithCxxfiltOnAWholeLibrary) {
  const CommandResult nm = RunCommand(
      "nm -D --defined-only $(c++ -print-file-name=libstdc++.so) | "
      "sed -n 's/.* \\(_Z[^@]*\\).*/\\1/p'");
  const std::vector<std::string> theirs =
      SplitLines(RunCommand("c++filt -i", nm.out).out);
  const std::vector<std::string> symbols = SplitLines(nm.out);
  ASSERT_GT(symbols.size(), 1000u);
  ASSERT_EQ(symbols.size(), theirs.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    EXPECT_EQ(Demangle(symbols[i]), theirs[i]) << symbols[i];
  }
}

}  // namespace
}  // namespace unspool::exporters
