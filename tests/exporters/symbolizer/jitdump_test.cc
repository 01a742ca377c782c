// Names and lines of JIT-compiled code from jitdump.

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/export.h"
#include "exporters/jit_code.h"
#include "tests/exporters/jit_process.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Fields of jitdump in the order of the specification.
template <typename... T>
std::string Words(T... words) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&words), sizeof(words)), ...);
  return bytes;
}

std::string Record(uint32_t id, const std::string& body) {
  return Words(id, static_cast<uint32_t>(16 + body.size()), uint64_t{1}) + body;
}

std::string Load(uint64_t address, uint64_t size, std::string_view name,
                 uint64_t index = 1) {
  return Record(0,
                Words(uint32_t{1}, uint32_t{1}, address, address, size, index) +
                    std::string(name) + std::string(1 + size, '\0'));
}

std::string Move(uint64_t from, uint64_t to, uint64_t size, uint64_t index) {
  return Record(1, Words(uint32_t{1}, uint32_t{1}, to, from, to, size, index));
}

struct SourceLine {
  uint64_t address;
  uint32_t line;
  std::string file;
};

std::string DebugInfo(uint64_t address, const std::vector<SourceLine>& lines) {
  std::string body = Words(address, uint64_t{lines.size()});
  for (const SourceLine& line : lines) {
    body += Words(line.address, line.line, uint32_t{0}) + line.file + '\0';
  }
  return Record(2, body);
}

class JitdumpTest : public JitProcessTest {
 protected:
  std::string DumpPath() const {
    return "/tmp/jit-" + std::to_string(Pid(0)) + ".dump";
  }

  std::string DumpHeader(uint32_t pad = 0, uint32_t machine = EM_X86_64) const {
    return Words(uint32_t{0x4a695444}, uint32_t{1}, uint32_t{40}, machine, pad,
                 static_cast<uint32_t>(Pid(0)), uint64_t{0}, uint64_t{0});
  }
};

TEST_F(JitdumpTest, AJitdumpNamesCodeAndItsLines) {
  Write(DumpPath(), DumpHeader() +
                        DebugInfo(kCode, {{kCode, 3, "a.js"},
                                          {kCode + 8, 4, "\xff"},
                                          {kCode + 16, 9, "b.js"}}) +
                        Load(kCode, 0x20, "f") +
                        Load(kCode + 0x100, 0x20, "without_lines", 2));
  const uint64_t offsets[] = {0, 9, 0x1f, 0x20, 0x100};
  for (const uint64_t offset : offsets) AddAddress(kCode + offset);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "f a.js:3");
  EXPECT_EQ(NameOf(1), "f a.js:4");
  EXPECT_EQ(NameOf(2), "f b.js:9");
  EXPECT_EQ(NameOf(3), "[unknown] :0");
  EXPECT_EQ(NameOf(4), "without_lines :0");
}

TEST_F(JitdumpTest, MovedCodeHasItsNameAndLinesWhereItIs) {
  Write(DumpPath(),
        DumpHeader() + DebugInfo(kCode, {{kCode + 8, 4, "a.js"}}) +
            Load(kCode, 0x20, "f", 7) + Move(kCode, kCode + 0x1000, 0x20, 7) +
            Move(kCode, kCode + 0x2000, 0x20, 8) + Load(kCode, 0x10, "g", 9));
  for (uint64_t offset : {0x0, 0x18, 0x1018, 0x2000}) {
    AddAddress(kCode + offset);
  }
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "g :0");  // came there after f
  EXPECT_EQ(NameOf(1), "f a.js:4");
  EXPECT_EQ(NameOf(2), "f a.js:4");
  EXPECT_EQ(NameOf(3), "[unknown] :0");  // of code that was never loaded
}

TEST_F(JitdumpTest, V8sLinesBeginBehindAnElfHeader) {
  Write(DumpPath(), DumpHeader(0xdeadbeef) +
                        DebugInfo(kCode, {{kCode + 64, 3, "a.js"},
                                          {kCode + 72, 4, "a.js"}}) +
                        Load(kCode, 0x10, "f"));
  AddAddress(kCode + 7);
  AddAddress(kCode + 8);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "f a.js:3");
  EXPECT_EQ(NameOf(1), "f a.js:4");
}

TEST_F(JitdumpTest, LinesThatMakeNoSenseAreLeftOut) {
  const std::vector<SourceLine> tables[] = {
      {{kCode + 0x21, 3, "behind.js"}},
      {{kCode - 1, 3, "before.js"}},
      {{kCode, 3, ""}},
      {{kCode, 3, "\xff"}},
      {{kCode, 3, "\x01\x02"}},
      {{kCode, 3, std::string(5000, 'x')}}};
  AddAddress(kCode);
  for (const auto& lines : tables) {
    SCOPED_TRACE(lines[0].file);
    Write(DumpPath(),
          DumpHeader() + DebugInfo(kCode, lines) + Load(kCode, 0x20, "f"));
    NameJit();
    EXPECT_EQ(NameOf(0), lines[0].file == "\xff" ? "f \xff:3" : "f :0");
    profile_.SetLines(profile_.locations[0], {});
    profile_.locations[0].mapping = 0;
  }
}

// Whose code was there before would be a wrong name.
TEST_F(JitdumpTest, CodeWithoutANameIsNotWhatWasThereBefore) {
  Write(DumpPath(),
        DumpHeader() + Load(kCode, 0x20, "before") + Load(kCode + 8, 8, "", 2));
  AddAddress(kCode);
  AddAddress(kCode + 8);
  Symbolize(profile_, nullptr);
  EXPECT_EQ(NameOf(0), "before :0");
  EXPECT_EQ(NameOf(1), "[jit] :0");
}

// Read forwards for what is where, backwards for the names of what is last.
TEST_F(JitdumpTest, EachByteIsReadAFewTimesAtMost) {
  std::string dump = DumpHeader();
  constexpr int kFunctions = 50'000;
  for (int i = 0; i < kFunctions; ++i) {
    // Of all at one address only the last is of use, of the others each.
    const uint64_t address = i % 2 == 0 ? kCode : kCode + 16 * i;
    dump += Load(address, 16, i % 4 == 0 ? "" : "f", i);
    if (i % 100 == 0) AddAddress(address);
    if (i % 101 == 0) AddAddress(kCode + 16 * i);
  }
  Write(DumpPath(), dump);
  NameJit();
  EXPECT_GT(ticks_, 0);
  EXPECT_LT(ticks_, static_cast<int>(dump.size() * 4 / 65536));
}

TEST_F(JitdumpTest, AJitdumpOfAnotherKindIsReported) {
  const std::string code = Load(kCode, 0x20, "f");
  const std::string good = DumpHeader();
  std::string other_version = good;
  other_version[4] = 2;
  std::string other_process = good;
  ++other_process[20];
  const std::pair<std::string, const char*> rows[] = {
      {"", "is no jitdump"},
      {"JiTD", "is no jitdump"},
      {other_version, "of another version"},
      {DumpHeader(0, EM_AARCH64), "of another machine"},
      {other_process, "of another machine or process"},
      {good + Words(uint32_t{0}, uint32_t{15}, uint64_t{0}), "is damaged"}};
  AddAddress(kCode);
  for (const auto& [bytes, why] : rows) {
    Write(DumpPath(), bytes + code);
    EXPECT_THAT(NameJit(), ElementsAre(HasSubstr(why)));
    EXPECT_EQ(profile_.locations[0].line_count, 0u);
  }
}

TEST_F(JitdumpTest, ADamagedJitdumpComesToAnEnd) {
  const std::string whole =
      DumpHeader() +
      DebugInfo(kCode, {{kCode, 3, "a.js"}, {kCode + 8, 4, "b"}}) +
      Load(kCode, 0x20, "f") + Move(kCode, kCode + 0x100, 0x20, 1) +
      Load(kCode + 0x40, 0x20, "g", 2) + Record(3, "") + Load(kCode, 9, "late");
  AddAddress(kCode);
  AddAddress(kCode + 0x100);
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const std::string& bytes :
         {whole.substr(0, i), whole.substr(0, i) +
                                  static_cast<char>(~whole[i]) +
                                  whole.substr(i + 1)}) {
      Write(DumpPath(), bytes);
      Profile copy = NewCpuProfile();
      copy.mappings.push_back({});
      const uint32_t location = AddLocation(copy, kCode);
      const Label pid = {.key = copy.strings.Intern("pid"), .num = Pid(0)};
      copy.AddSample({&location, 1}, std::vector<int64_t>{1, 1}, {&pid, 1});
      Symbolize(copy, nullptr);
      EXPECT_THAT(FrameTexts(copy, 0)[0], testing::Not(HasSubstr("late")));
    }
  }
}

}  // namespace
}  // namespace unspool::exporters
