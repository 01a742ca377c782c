#include "exporters/symbolizer/kernel_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "exporters/export.h"
#include "tests/exporters/command.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using testing::HasSubstr;

// A note of another kind, then the build id 0123456789abcdef.
const std::string kNotes(
    "\4\0\0\0\4\0\0\0\1\0\0\0GNU\0abcd"
    "\4\0\0\0\10\0\0\0\3\0\0\0GNU\0\x01\x23\x45\x67\x89\xab\xcd\xef",
    44);
constexpr char kBuildId[] = "0123456789abcdef";
constexpr uint64_t kStart = 0xffffffff81000000;

class KernelSymbolsTest : public testing::Test {
 protected:
  ~KernelSymbolsTest() override {
    std::remove(notes_.c_str());
    std::remove(symbols_.c_str());
  }

  absl::Status Load(const std::string& symbols, const char* build_id = kBuildId,
                    uint64_t start = kStart) {
    WriteFileOrDie(notes_, kNotes);
    WriteFileOrDie(symbols_, symbols);
    return kernel_.Load(build_id, start, symbols_, notes_);
  }

  const std::string notes_ = TempPath("notes");
  const std::string symbols_ = TempPath("kallsyms");
  KernelSymbols kernel_;
};

constexpr char kSymbols[] =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000140 T __pfx_do_syscall_64\n"
    "ffffffff81000150 t local_alias\n"
    "ffffffff81000150 T do_syscall_64\n"
    "ffffffff81000150 W alias\n"
    "ffffffff81000190 d data\n"
    "damaged\n"
    "ffffffff810001a0 t local\n"
    "ffffffff81000200 T _etext\n"
    "ffffffff81300000 T init_text\n"
    "ffffffffc0000000 t nf_hook\t[nf_tables]\n";

TEST_F(KernelSymbolsTest, NamesTheKernelsText) {
  ASSERT_EQ(Load(kSymbols), absl::OkStatus());
  const struct {
    uint64_t address;
    const char* name;
  } kRows[] = {
      {0, ""},
      {kStart - 1, ""},
      {kStart, "_text"},
      {kStart + 0x14f, "__pfx_do_syscall_64"},
      {kStart + 0x150, "do_syscall_64"},
      {kStart + 0x19f, "do_syscall_64"},
      {kStart + 0x1a0, "local"},
      {kStart + 0x1ff, "local"},
      {kStart + 0x200, ""},
      {kStart + 0x300000, ""},
      {0xffffffffc0000000, ""},
      {~uint64_t{0}, ""},
  };
  for (const auto& [address, name] : kRows) {
    EXPECT_EQ(kernel_.Find(address), name) << std::hex << address;
  }
}

TEST_F(KernelSymbolsTest, NamesNothingOfAnotherKernelOrBoot) {
  const std::string symbols = kSymbols;
  const std::string hidden =
      "0000000000000000 T _stext\n0000000000000000 T _etext\n";
  const struct {
    std::string symbols;
    const char* build_id;
    uint64_t start;
    const char* why;
  } kRows[] = {
      {symbols, "0123456789abcdee", kStart, "not the kernel that runs here"},
      {symbols, "", kStart, "not the kernel that runs here"},
      {symbols, kBuildId, kStart + 0x200000, "was elsewhere in memory"},
      {symbols, kBuildId, kStart + 0x150, "was elsewhere in memory"},
      {hidden, kBuildId, kStart, "tells them to root"},
      {"", kBuildId, kStart, "tells them to root"},
  };
  for (const auto& row : kRows) {
    const absl::Status status = Load(row.symbols, row.build_id, row.start);
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.why));
    EXPECT_EQ(kernel_.Find(kStart + 0x150), "");
  }
}

// A profile as perf's converters make it, of the kernel that runs here; where
// it does not tell its addresses or build id it has the mapping's name and says
// why.
TEST(Symbolize, NamesTheKernelThatRunsHere) {
  const CommandResult start =
      RunCommand("grep -w _stext /proc/kallsyms | cut -c1-16");
  const CommandResult entry =
      RunCommand("grep -w do_syscall_64 /proc/kallsyms | cut -c1-16");
  const std::string notes = ReadFile("/sys/kernel/notes");
  const size_t note = notes.find(std::string("\x14\0\0\0\3\0\0\0GNU", 12));
  std::string build_id;
  for (size_t i = 0; i < 20 && note != notes.npos; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof(hex), "%02x",
                  static_cast<unsigned char>(notes.at(note + 12 + i)));
    build_id += hex;
  }
  Profile profile = NewCpuProfile();
  const uint64_t memory_start = std::stoull(start.out, nullptr, 16);
  profile.mappings.push_back(
      {.memory_start = memory_start,
       .memory_limit = ~uint64_t{0},
       .filename = profile.strings.Intern("[kernel.kallsyms]_stext"),
       .build_id = profile.strings.Intern(build_id)});
  profile.locations.push_back(
      {.address = std::stoull(entry.out, nullptr, 16) + 1, .mapping = 0});
  Symbolize(profile, nullptr);
  const bool is_hidden = memory_start == 0 || build_id.empty();
  const std::string_view why =
      profile.FindComment("unspool.unnamed").value_or("");
  EXPECT_EQ(FrameTexts(profile, 0)[0],
            is_hidden ? "[kernel.kallsyms]_stext :0" : "do_syscall_64 :0")
      << why;
  EXPECT_NE(why.empty(), is_hidden) << why;
}

}  // namespace
}  // namespace unspool::exporters
