#include "unwind/elf_module.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unwind/module_path.h"
#include "unwind/module_snapshot.h"

namespace unspool::unwind {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kBias = 0x7f0000000000;

Elf64_Phdr Load(uint32_t flags, uint64_t offset, uint64_t address,
                uint64_t size) {
  Elf64_Phdr header = {};
  header.p_type = PT_LOAD;
  header.p_flags = flags;
  header.p_offset = offset;
  header.p_vaddr = address;
  header.p_filesz = header.p_memsz = size;
  return header;
}

TEST(ElfModule, SegmentsSayWhereTheyComeFrom) {
  // As lld lays files out: offset and address differ, neither is page-aligned.
  const std::vector<Elf64_Phdr> headers = {
      Load(PF_R, 0, 0, 0x6a4), Load(PF_R | PF_X, 0x6b0, 0x16b0, 0x230),
      Load(PF_R | PF_W, 0x8e0, 0x28e0, 0x1e0),
      Load(PF_R | PF_X, 0x3000, 0x200000, 0x1001)};
  LoadedModule loaded;
  ASSERT_TRUE(DescribeSegments(headers, kBias, &loaded));
  const Module& module = loaded.module;
  EXPECT_EQ(module.start, kBias);
  EXPECT_EQ(module.end, kBias + 0x202000);
  ASSERT_EQ(module.segment_count, 2);
  EXPECT_EQ(module.segments[0].start, kBias + 0x1000);
  EXPECT_EQ(module.segments[0].end, kBias + 0x2000);
  EXPECT_EQ(module.segments[0].file_offset, 0u);
  EXPECT_EQ(module.segments[1].start, kBias + 0x200000);
  EXPECT_EQ(module.segments[1].end, kBias + 0x202000);
  EXPECT_EQ(module.segments[1].file_offset, 0x3000u);
  EXPECT_TRUE(loaded.IsCode(kBias + 0x16b0));
  EXPECT_FALSE(loaded.IsCode(kBias + 0x28e0));
}

TEST(ElfModule, OnlyWhatIsMappedIsRead) {
  const std::vector<Elf64_Phdr> headers = {Load(PF_R, 0, 0, 0x6a4),
                                           Load(PF_W, 0x1000, 0x1000, 0x100),
                                           Load(PF_R, 0x2000, 0x2000, 0x100)};
  LoadedModule loaded;
  ASSERT_TRUE(DescribeSegments(headers, kBias, &loaded));
  EXPECT_EQ(ClipToLoads(loaded, kBias + 0x6a0, 100).size, 4u);
  EXPECT_EQ(ClipToLoads(loaded, kBias + 0x6a4, 100).size, 0u);
  EXPECT_EQ(ClipToLoads(loaded, kBias + 0x1000, 100).size, 0u);
  EXPECT_EQ(ClipToLoads(loaded, kBias + 0x2000, 100).size, 100u);
  EXPECT_EQ(ClipToLoads(loaded, kBias - 1, 100).size, 0u);
}

TEST(ElfModule, WithoutPtLoadThereIsNothing) {
  LoadedModule loaded;
  EXPECT_FALSE(DescribeSegments({}, kBias, &loaded));
}

TEST(ElfModule, MoreSegmentsThanFitAreDropped) {
  std::vector<Elf64_Phdr> headers;
  for (uint64_t i = 0; i < 40; ++i) {
    headers.push_back(Load(PF_R | PF_X, i << 12, i << 12, 0x1000));
  }
  LoadedModule loaded;
  ASSERT_TRUE(DescribeSegments(headers, kBias, &loaded));
  EXPECT_EQ(loaded.module.segment_count, Module::kMaxSegments);
  EXPECT_EQ(loaded.load_count, LoadedModule::kMaxLoads);
  EXPECT_EQ(loaded.module.end, kBias + (40 << 12));
}

TEST(ElfModule, FindsTheBuildIdAmongNotes) {
  const Bytes abi_tag = {4, 0, 0,   0,   4,   0, 0, 0, 1, 0,
                         0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4};
  const Bytes id = {4, 0, 0,   0,   3,   0, 0,    0,    3,    0,
                    0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 0};
  Bytes both = abi_tag;
  both.insert(both.end(), id.begin(), id.end());
  Bytes too_long = id;
  too_long[4] = 200;
  Bytes other_name = id;
  other_name[12] = 'X';
  const struct {
    const char* name;
    Bytes notes;
    uint8_t size;
  } rows[] = {
      {"alone", id, 3},
      {"second", both, 3},
      {"none", abi_tag, 0},
      {"empty", {}, 0},
      {"longer than notes", too_long, 0},
      {"another's", other_name, 0},
      {"cut", {4, 0, 0}, 0},
  };
  for (const auto& row : rows) {
    const BuildId found = FindBuildId(row.notes);
    EXPECT_EQ(found.size, row.size) << row.name;
    if (row.size == 3) {
      EXPECT_EQ(found.bytes[2], 0xef) << row.name;
    }
  }
}

TEST(ElfModule, BuildIdThatDoesNotFitIsNone) {
  Bytes notes = {4, 0, 0, 0, 40, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
  notes.resize(notes.size() + 40, 1);
  EXPECT_EQ(FindBuildId(notes).size, 0);
}

TEST(ModulePath, KnowsLibcAndTheLoader) {
  EXPECT_TRUE(IsLibcOrLoaderPath("/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_TRUE(IsLibcOrLoaderPath("/lib64/ld-linux-x86-64.so.2"));
  EXPECT_TRUE(IsLibcOrLoaderPath("libpthread.so.0"));
  EXPECT_FALSE(IsLibcOrLoaderPath("/lib/libc.so.60"));
  EXPECT_FALSE(IsLibcOrLoaderPath("/libc.so.6/libx.so"));
  EXPECT_FALSE(IsLibcOrLoaderPath(""));
}

TEST(ModuleSnapshot, FindsByRange) {
  std::vector<LoadedModule> modules(3);
  std::vector<uint64_t> starts;
  for (size_t i = 0; i < modules.size(); ++i) {
    modules[i].module.start = 0x1000 + 0x1000 * i;
    modules[i].module.end = modules[i].module.start + 0x800;
    starts.push_back(modules[i].module.start);
  }
  const ModuleSnapshot snapshot(modules, starts);
  const struct {
    uint64_t pc;
    ModuleId id;
  } rows[] = {{0, kNoModule}, {0xfff, kNoModule},  {0x1000, 0},
              {0x17ff, 0},    {0x1800, kNoModule}, {0x2000, 1},
              {0x37ff, 2},    {0x3800, kNoModule}, {~0ULL, kNoModule}};
  for (const auto& row : rows) {
    EXPECT_EQ(snapshot.Find(row.pc), row.id) << row.pc;
  }
  EXPECT_EQ(ModuleSnapshot().Find(0x1000), kNoModule);
}

}  // namespace
}  // namespace unspool::unwind
