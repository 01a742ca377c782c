// Names of addresses in programs that were built for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/export.h"
#include "exporters/naming_pool.h"
#include "exporters/symbolizer/module_names.h"
#include "exporters/symbolizer/module_tables.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

constexpr uint64_t kBias = 0x7f1234500000;

// The innermost name at an ELF virtual address.
std::string NameAt(const std::string& path, uint64_t address) {
  const auto names = ModuleNames::Open(path, "");
  EXPECT_TRUE(names.ok()) << names.status();
  return names.ok() ? (*names)->Find(address, "module")[0].name : "";
}

class InlinedTest : public testing::TestWithParam<const char*> {};

TEST_P(InlinedTest, GivesTheWholeChainWithLines) {
  const std::string path = ProgramPath(GetParam());
  Profile profile = NewCpuProfile();
  profile.mappings.push_back(MapExecutable(profile, path, kBias));
  const uint32_t location =
      AddLocation(profile, kBias + SymbolAddress(path, "innie_marker"));
  Symbolize(profile, nullptr);
  // gcc tells only the names of functions that it inlined everywhere, not their
  // parameters.
  EXPECT_THAT(
      FrameTexts(profile, location),
      ElementsAre(MatchesRegex("chain::innie(\\(long\\))? inlined.cc:11"),
                  MatchesRegex("chain::middle(\\(long\\))? inlined.cc:17"),
                  "chain::outie(long) inlined.cc:23"));
  const auto lines = profile.lines(profile.locations[location]);
  const Function& outie = profile.functions[lines[2].function];
  EXPECT_EQ(profile.strings[outie.system_name], "_ZN5chain5outieEl");
  EXPECT_EQ(outie.start_line, 21);
  EXPECT_EQ(profile.functions[lines[0].function].start_line, 9);
  EXPECT_TRUE(profile.mappings[0].has_functions);
  EXPECT_TRUE(profile.mappings[0].has_filenames);
  EXPECT_TRUE(profile.mappings[0].has_line_numbers);
  EXPECT_TRUE(profile.mappings[0].has_inline_frames);
}

INSTANTIATE_TEST_SUITE_P(
    Compilers, InlinedTest,
    testing::Values("inlined_gcc2", "inlined_gcc3", "inlined_gcc4",
                    "inlined_gcc5", "inlined_clang2", "inlined_clang3",
                    "inlined_clang4", "inlined_clang5", "inlined_gcc_lto",
                    "inlined_clang_lto", "inlined_gcc_sections"),
    [](const auto& test) { return std::string(test.param); });

TEST(Symbolize, TakesMappingsOfWholePagesToo) {
  const std::string path = ProgramPath("foo_lld");  // its code begins in a page
  Profile profile = NewCpuProfile();
  Mapping mapping = MapExecutable(profile, path, kBias);
  mapping.memory_start &= ~uint64_t{4095};
  mapping.file_offset &= ~uint64_t{4095};
  profile.mappings.push_back(mapping);
  const uint32_t location =
      AddLocation(profile, kBias + SymbolAddress(path, "main_static"));
  Symbolize(profile, nullptr);
  EXPECT_THAT(FrameTexts(profile, location),
              ElementsAre("main_static foo_main.c:7"));
}

TEST(Symbolize, TakesTheDebugFileNextToAStrippedProgram) {
  Profile profile = NewCpuProfile();
  const std::string path = ProgramPath("split");
  profile.mappings.push_back(MapExecutable(profile, path, kBias));
  const uint64_t address =
      SymbolAddress(ProgramPath("inlined_gcc5"), "innie_marker");
  const uint32_t location = AddLocation(profile, kBias + address);
  Symbolize(profile, nullptr);
  EXPECT_THAT(FrameTexts(profile, location), SizeIs(3));
}

TEST(Symbolize, NamesWhatAStrippedFileStillExports) {
  for (const char* name : {"exported", "libexported.so"}) {
    const std::string whole = ProgramPath(name);
    const std::string stripped = whole + ".stripped";
    EXPECT_EQ(NameAt(stripped, SymbolAddress(whole, "exported") + 1),
              "exported");
  }
}

TEST(Symbolize, NamesOtherFunctionsByTheirOwnFde) {
  for (const char* name : {"exported", "libexported.so"}) {
    const std::string whole = ProgramPath(name);
    for (const char* function : {"hidden_first", "hidden_second"}) {
      const uint64_t start = SymbolAddress(whole, function);
      char expected[64];
      std::snprintf(expected, sizeof(expected), "module+0x%lx", start);
      EXPECT_EQ(NameAt(whole + ".stripped", start), expected);
      EXPECT_EQ(NameAt(whole + ".stripped", start + 3), expected);
    }
  }
}

TEST(Symbolize, CallsTheEntryOfAStrippedProgramStart) {
  const std::string whole = ProgramPath("inlined_gcc5");
  EXPECT_EQ(NameAt(ProgramPath("split"), SymbolAddress(whole, "_start") + 4),
            "_start");
}

TEST(Symbolize, ChoosesAmongSymbolsByTheirRules) {
  const std::string path = ProgramPath("symbols");
  const uint64_t main = SymbolAddress(path, "main");
  const auto places = ReadNumbers(path, SymbolAddress(path, "places"), 5);
  auto place = [&](size_t i) {
    return main + static_cast<uint64_t>(places[i]);
  };
  char nameless[64];
  std::snprintf(nameless, sizeof(nameless), "module+0x%lx", place(1));
  char gap[64];
  std::snprintf(gap, sizeof(gap), "module+0x%lx", place(4));
  EXPECT_EQ(NameAt(path, SymbolAddress(path, "z_global") + 1), "z_global");
  EXPECT_EQ(NameAt(path, SymbolAddress(path, "trampoline") - 1), "trampoline");
  EXPECT_EQ(NameAt(path, place(0)), "unsized_with_fde");
  EXPECT_EQ(NameAt(path, place(2)), nameless);
  EXPECT_EQ(NameAt(path, place(3)), "unsized_bare");
  EXPECT_EQ(NameAt(path, SymbolAddress(path, "sized") + 1), "sized");
  EXPECT_EQ(NameAt(path, place(4)), gap);
}

TEST(Symbolize, ReportsAFileThatIsNotTheRecordedOneAndDoesNotUseIt) {
  const std::string path = ProgramPath("inlined_gcc5");
  Profile profile = NewCpuProfile();
  Mapping mapping = MapExecutable(profile, path, kBias);
  mapping.build_id = profile.strings.Intern("0123456789abcdef");
  profile.mappings.push_back(mapping);
  const uint32_t location =
      AddLocation(profile, kBias + SymbolAddress(path, "innie_marker"));
  Symbolize(profile, nullptr);
  EXPECT_EQ(profile.locations[location].line_count, 0u);
  EXPECT_FALSE(profile.mappings[0].has_functions);
  ASSERT_TRUE(profile.FindComment("unspool.unnamed").has_value());
  EXPECT_THAT(std::string(*profile.FindComment("unspool.unnamed")),
              HasSubstr(path + ": is not the file that was recorded"));
}

TEST(Symbolize, TakesFilesThatWereFoundElsewhere) {
  const std::string path = ProgramPath("split");
  Profile profile = NewCpuProfile();
  Mapping mapping = MapExecutable(profile, path, kBias);
  mapping.filename = profile.strings.Intern("/split");
  const std::string build_id(profile.strings[mapping.build_id]);
  profile.mappings.push_back(mapping);
  const uint32_t location = AddLocation(
      profile,
      kBias + SymbolAddress(ProgramPath("inlined_gcc5"), "innie_marker"));
  class OneFile : public RecordedFiles {
   public:
    FoundFile FindFile(const std::string& wanted,
                       std::string_view id) const override {
      if (wanted != "/split" || id != build_id) return {};
      return {path, path.substr(0, path.rfind('/'))};
    }
    ProcessFolders FindFolders(int64_t) const override { return {}; }
    std::string path;
    std::string build_id;
  };
  OneFile files;
  files.path = path;
  files.build_id = build_id;
  Symbolize(profile, nullptr, &files);
  // By its debug file, /split.debug, which is seen from that root only.
  EXPECT_THAT(FrameTexts(profile, location), SizeIs(3));
  EXPECT_EQ(profile.FindComment("unspool.unnamed"), std::nullopt);
}

TEST(Symbolize, ReportsAMissingFileAndNamesTheRest) {
  const std::string path = ProgramPath("inlined_gcc5");
  Profile profile = NewCpuProfile();
  profile.mappings.push_back(MapExecutable(profile, path, kBias));
  const uint32_t good =
      AddLocation(profile, kBias + SymbolAddress(path, "main"));
  profile.mappings.push_back(
      {.memory_start = 0x1000,
       .memory_limit = 0x2000,
       .filename = profile.strings.Intern("/no/such/lib.so")});
  const uint32_t bad = AddLocation(profile, 0x1800);
  Symbolize(profile, nullptr);
  EXPECT_THAT(FrameTexts(profile, good), ElementsAre(StartsWith("main ")));
  EXPECT_EQ(profile.locations[bad].line_count, 0u);
  EXPECT_TRUE(profile.mappings[0].has_functions);
  EXPECT_FALSE(profile.mappings[1].has_functions);
  EXPECT_THAT(std::string(*profile.FindComment("unspool.unnamed")),
              HasSubstr("/no/such/lib.so: cannot be read: No such file"));
  Symbolize(profile, nullptr);
  EXPECT_THAT(profile.comments, SizeIs(1));  // not said twice
}

TEST(Symbolize, CallsWhatIsNoFileByItsMapping) {
  Profile profile = NewCpuProfile();
  for (const char* name : {"[jit]", "[kernel]", ""}) {
    profile.mappings.push_back({.memory_start = 0x1000,
                                .memory_limit = 0x2000,
                                .filename = profile.strings.Intern(name)});
    AddLocation(profile, 0x1800);
  }
  Symbolize(profile, nullptr);
  EXPECT_THAT(FrameTexts(profile, 0), ElementsAre("[jit] :0"));
  EXPECT_THAT(FrameTexts(profile, 1), ElementsAre("[kernel] :0"));
  EXPECT_THAT(FrameTexts(profile, 2), ElementsAre("[unknown] :0"));
}

TEST(Symbolize, LeavesNamesThatAreThere) {
  Profile profile = NewCpuProfile();
  profile.mappings.push_back({.filename = profile.strings.Intern("/no/file")});
  const uint32_t location = AddLocation(profile, 0x1800);
  profile.functions.push_back({.name = profile.strings.Intern("kept")});
  profile.SetLines(profile.locations[location], std::vector<Line>{{0, 5}});
  Symbolize(profile, nullptr);
  EXPECT_THAT(FrameTexts(profile, location), ElementsAre("kept :5"));
  EXPECT_EQ(profile.comments.size(), 0u);
}

TEST(Symbolize, NamesTheVdsoOfThisKernel) {
  const auto tables = ModuleTables::OpenVdso("");
  ASSERT_TRUE(tables.ok()) << tables.status();
  Profile profile = NewCpuProfile();
  const uint64_t base = getauxval(AT_SYSINFO_EHDR);
  profile.mappings.push_back({.memory_start = base,
                              .memory_limit = base + 0x2000,
                              .filename = profile.strings.Intern("[vdso]")});
  // Some of its first two pages is code that it exports.
  for (uint64_t offset = 0; offset < 0x2000; offset += 16) {
    AddLocation(profile, base + offset);
  }
  Symbolize(profile, nullptr);
  bool found = false;
  for (uint32_t i = 0; i < profile.locations.size(); ++i) {
    found |= FrameTexts(profile, i)[0] == "__vdso_clock_gettime :0";
  }
  EXPECT_TRUE(found);
}

TEST(Symbolize, ReportsHowManyDistinctAddressesHaveNames) {
  const std::string path = ProgramPath("inlined_gcc5");
  Profile profile = NewCpuProfile();
  profile.mappings.push_back(MapExecutable(profile, path, kBias));
  const uint64_t main = SymbolAddress(path, "main");
  for (uint64_t i = 0; i < 100; ++i) AddLocation(profile, kBias + main + i % 8);
  std::vector<uint64_t> done;
  Symbolize(profile,
            [&done](std::string_view what, uint64_t so_far, uint64_t total) {
              EXPECT_EQ(what, "naming inlined_gcc5");
              EXPECT_EQ(total, 8u);
              done.push_back(so_far);
            });
  EXPECT_THAT(done, testing::WhenSorted(testing::ElementsAreArray(done)));
  EXPECT_EQ(done.front(), 0u);
  EXPECT_LE(done.back(), 8u);
}

// PF-01: two processes ran the program, each at an address of its own.
TEST(Symbolize, AsksOnceForAnAddressOfAFileThatIsMappedTwice) {
  const std::string path = ProgramPath("templates_gcc5");
  const std::vector<uint64_t> addresses = FunctionAddresses(path, 7);
  ASSERT_GT(addresses.size(), 1000u);
  Profile profile = NewCpuProfile();
  for (const uint64_t bias : {kBias, kBias + 0x10000000}) {
    profile.mappings.push_back(MapExecutable(profile, path, bias));
    for (const uint64_t address : addresses) {
      AddLocation(profile, bias + address);
    }
  }
  uint64_t asked = 0;
  Symbolize(profile, [&asked](std::string_view, uint64_t, uint64_t total) {
    asked = total;
  });
  EXPECT_EQ(asked, addresses.size());
  for (uint32_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(FrameTexts(profile, i),
              FrameTexts(profile, static_cast<uint32_t>(addresses.size()) + i));
  }
}

TEST(NamingPool, LooksUpEachOffsetOnce) {
  const std::string path = ProgramPath("templates_gcc5");
  NamingRequest request = {
      .path = path, .build_id = {}, .found = {}, .offsets = {}};
  for (const uint64_t address : FunctionAddresses(path, 7)) {
    request.offsets.push_back(address);
  }
  const size_t count = request.offsets.size();
  NamingPool pool({std::move(request)});
  pool.Run([](std::string_view, uint64_t) {});
  std::vector<size_t> lookups(count);
  ASSERT_EQ(pool.answers().size(), 1u);
  for (const NameTable& names : pool.answers()[0].names) {
    for (const NameTable::Entry& entry : names.entries()) ++lookups[entry.key];
  }
  EXPECT_THAT(lookups, testing::Each(1u));
}

TEST(Symbolize, StopsWhenToldToAndKeepsWhatHasAName) {
  const std::string path = ProgramPath("inlined_gcc5");
  Profile profile = NewCpuProfile();
  profile.mappings.push_back(MapExecutable(profile, path, kBias));
  const uint32_t main =
      AddLocation(profile, kBias + SymbolAddress(path, "main"));
  profile.mappings.push_back({.memory_start = 0x1000,
                              .memory_limit = 0x2000,
                              .filename = profile.strings.Intern("[heap]")});
  const uint32_t heap = AddLocation(profile, 0x1100);
  auto stop = [](std::string_view, uint64_t, uint64_t) {
    throw std::runtime_error("enough");
  };
  EXPECT_THROW(Symbolize(profile, stop), std::runtime_error);
  EXPECT_EQ(profile.locations[main].line_count, 0u);
  EXPECT_FALSE(profile.mappings[0].has_functions);
  EXPECT_THAT(FrameTexts(profile, heap), ElementsAre("[heap] :0"));
  EXPECT_TRUE(profile.mappings[1].has_functions);
}

// Names every 16th byte of a damaged file; it must come back.
void NameDamaged(const std::string& bytes) {
  const std::string path = TempPath("damaged");
  WriteFileOrDie(path, bytes);
  const auto names = ModuleNames::Open(path, "");
  for (uint64_t address = 0x1000; names.ok() && address < 0x1400;
       address += 16) {
    EXPECT_THAT((*names)->Find(address, "m"), testing::Not(SizeIs(0)));
  }
  std::remove(path.c_str());
}

TEST(Symbolize, SurvivesDamagedFiles) {
  const std::string whole = ReadFile(ProgramPath("inlined_gcc5"));
  for (size_t size = 0; size < whole.size(); size += 301) {
    NameDamaged(whole.substr(0, size));
  }
  for (size_t byte = 0; byte < whole.size(); byte += 97) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(~damaged[byte]);
    NameDamaged(damaged);
  }
}

}  // namespace
}  // namespace unspool::exporters
