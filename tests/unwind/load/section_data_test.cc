#include "unwind/load/section_data.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/exporters/command.h"
#include "unwind/load/inflate.h"
#include "unwind/load/mapped_file.h"

namespace unspool::unwind {
namespace {

using exporters::CommandResult;
using exporters::ReadFile;
using exporters::RunCommand;
using exporters::TempPath;
using exporters::WriteFileOrDie;

constexpr uint64_t kNoLimit = UINT64_MAX;
constexpr const char* kSections[] = {".debug_info", ".debug_line",
                                     ".debug_frame"};

std::string Text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The program of the tests, processed by objcopy with these options.
std::string Converted(const std::string& options) {
  const std::string path = TempPath("converted");
  const CommandResult result =
      RunCommand("objcopy " + options + " " PROGRAM_DIR "/debugged " + path);
  EXPECT_EQ(result.status, 0) << result.err;
  std::string bytes = ReadFile(path);
  std::remove(path.c_str());
  return bytes;
}

struct Loaded {
  SectionError error;
  std::string bytes;
  uint32_t compression;
  bool is_inflated;
};

Loaded Load(const std::string& file, const char* name,
            uint64_t max_size = kNoLimit) {
  ElfFile elf;
  EXPECT_EQ(elf.Parse(Bytes(file)), ElfError::kNone);
  SectionData data;
  const SectionError error = data.Load(elf, name, max_size);
  return {error, Text(data.bytes()), data.compression(), data.is_inflated()};
}

// Where a section's bytes begin in the file.
size_t OffsetOf(const std::string& file, const char* name) {
  ElfFile elf;
  EXPECT_EQ(elf.Parse(Bytes(file)), ElfError::kNone);
  const auto section = elf.FindSection(name);
  EXPECT_TRUE(section.has_value());
  return section ? section->sh_offset : 0;
}

struct Method {
  const char* name;
  uint32_t type;
};

class CompressedSectionTest : public testing::TestWithParam<Method> {
 protected:
  const std::string compressed_ =
      Converted("--compress-debug-sections=" + std::string(GetParam().name));
};

TEST_P(CompressedSectionTest, GivesWhatWasCompressed) {
  const std::string plain = Converted("");
  for (const char* name : kSections) {
    const Loaded expected = Load(plain, name);
    const Loaded loaded = Load(compressed_, name);
    ASSERT_EQ(expected.error, SectionError::kNone) << name;
    EXPECT_FALSE(expected.is_inflated);
    EXPECT_EQ(expected.compression, 0u);
    EXPECT_EQ(loaded.error, SectionError::kNone) << name;
    EXPECT_TRUE(loaded.is_inflated);
    EXPECT_EQ(loaded.compression, GetParam().type);
    EXPECT_TRUE(loaded.bytes == expected.bytes) << name;
  }
}

TEST_P(CompressedSectionTest, TakesNoMoreThanTheCallerWants) {
  const size_t size = Load(compressed_, ".debug_info").bytes.size();
  EXPECT_EQ(Load(compressed_, ".debug_info", size).error, SectionError::kNone);
  const Loaded refused = Load(compressed_, ".debug_info", size - 1);
  EXPECT_EQ(refused.error, SectionError::kTooLarge);
  EXPECT_EQ(refused.bytes, "");
}

INSTANTIATE_TEST_SUITE_P(Methods, CompressedSectionTest,
                         testing::Values(Method{"zlib-gabi", 1},
                                         Method{"zlib-gnu", 1},
                                         Method{"zstd", 2}),
                         [](const auto& test) {
                           return "Method" + std::to_string(test.index);
                         });

TEST(SectionData, ThatIsDamagedHasNoBytes) {
  for (const char* method : {"zlib-gabi", "zstd"}) {
    std::string file =
        Converted("--compress-debug-sections=" + std::string(method));
    const size_t offset = OffsetOf(file, ".debug_info");
    // ch_size: one more than there is.
    ++file[offset + offsetof(Elf64_Chdr, ch_size)];
    EXPECT_EQ(Load(file, ".debug_info").error, SectionError::kCorrupt);
    --file[offset + offsetof(Elf64_Chdr, ch_size)];
    EXPECT_EQ(Load(file, ".debug_info").error, SectionError::kNone);
    file[offset + sizeof(Elf64_Chdr)] ^= 0x55;
    const Loaded loaded = Load(file, ".debug_info");
    EXPECT_EQ(loaded.error, SectionError::kCorrupt) << method;
    EXPECT_EQ(loaded.bytes, "");
    EXPECT_FALSE(loaded.is_inflated);
  }
  std::string gnu = Converted("--compress-debug-sections=zlib-gnu");
  gnu[OffsetOf(gnu, ".zdebug_info")] = 'z';
  EXPECT_EQ(Load(gnu, ".debug_info").error, SectionError::kCorrupt);
  EXPECT_EQ(Load(gnu, ".debug_line").error, SectionError::kNone);
}

TEST(SectionData, OfAnUnknownMethodSaysWhich) {
  std::string file = Converted("--compress-debug-sections=zstd");
  file[OffsetOf(file, ".debug_info")] = 3;
  const Loaded loaded = Load(file, ".debug_info");
  EXPECT_EQ(loaded.error, SectionError::kUnknownCompression);
  EXPECT_EQ(loaded.compression, 3u);
}

TEST(SectionData, ThatIsNotInTheFileIsAbsent) {
  EXPECT_EQ(Load(Converted(""), ".debug_nothing").error, SectionError::kAbsent);
  // A debug file has the names of the program's sections, not their bytes.
  EXPECT_EQ(Load(Converted("--only-keep-debug"), ".text").error,
            SectionError::kAbsent);
  EXPECT_EQ(Load(Converted(""), ".bss").error, SectionError::kAbsent);
}

TEST(Inflate, XzGivesWhatWasCompressed) {
  const std::string input = Converted("");
  const std::string xz = RunCommand("xz -c", input).out;
  OwnedBytes out;
  EXPECT_TRUE(Text(InflateXz(Bytes(xz), size_t{1} << 30, &out)) == input);
  EXPECT_TRUE(Text(InflateXz(Bytes(xz), input.size(), &out)) == input);
  EXPECT_TRUE(InflateXz(Bytes(xz), input.size() - 1, &out).empty());
}

TEST(Inflate, XzRefusesDamagedBytes) {
  constexpr size_t kRoom = size_t{1} << 24;
  const std::string xz = RunCommand("xz -c", Converted("")).out;
  std::string damaged = xz;
  damaged[damaged.size() / 2] ^= 1;
  OwnedBytes out;
  EXPECT_FALSE(InflateXz(Bytes(xz), kRoom, &out).empty());
  EXPECT_TRUE(InflateXz({}, kRoom, &out).empty());
  EXPECT_TRUE(InflateXz(Bytes(std::string(1000, '?')), kRoom, &out).empty());
  EXPECT_TRUE(InflateXz(Bytes(xz).first(xz.size() / 2), kRoom, &out).empty());
  EXPECT_TRUE(InflateXz(Bytes(damaged), kRoom, &out).empty());
}

}  // namespace
}  // namespace unspool::unwind
