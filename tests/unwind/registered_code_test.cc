#include "unwind/registered_code.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace unspool::unwind {
namespace {

using Status = RegisteredCode::Status;

std::unique_ptr<RegionTable> MakeTable() {
  return std::make_unique<RegionTable>();  // zeroed
}

TEST(RegionTable, FindsWhatHasThePc) {
  const auto table = MakeTable();
  const struct {
    uint64_t start;
    uint64_t end;
  } kRegions[] = {
      {0x1000, 0x1010},                  // within a page
      {0x1ff8, 0x2008},                  // across two
      {0x7000, 0x20000},                 // of several pages
      {0x7f0000000000, 0x7f00a0000000},  // of gigabytes
      {0xfffffffffffff000, 0xffffffffffffffff},
  };
  for (const auto& [start, end] : kRegions) {
    const uint32_t number = table->Add(start, end);
    ASSERT_GT(number, 0u);
    EXPECT_EQ(table->Find(start), number);
    EXPECT_EQ(table->Find(start + (end - start) / 2), number);
    EXPECT_EQ(table->Find(end - 1), number);
    EXPECT_EQ(table->Find(end), 0u);
    EXPECT_EQ(table->Find(start - 1), 0u);
  }
}

TEST(RegionTable, TheNewestRegionWinsWhateverItsSize) {
  const auto table = MakeTable();
  const uint32_t large = table->Add(0x10000, 0x90000);
  const uint32_t small = table->Add(0x20000, 0x20010);
  EXPECT_EQ(table->Find(0x20008), small);
  EXPECT_EQ(table->Find(0x20010), large);
  const uint32_t newest = table->Add(0x18000, 0x98000);
  EXPECT_EQ(table->Find(0x20008), newest);
  EXPECT_EQ(table->Find(0x17fff), large);
}

TEST(RegionTable, RemovedRegionsAreNotFound) {
  const auto table = MakeTable();
  const uint32_t first = table->Add(0x1000, 0x1010);
  const uint32_t second = table->Add(0x1010, 0x1020);
  table->Remove(first);
  EXPECT_FALSE(table->IsAlive(first));
  EXPECT_EQ(table->Find(0x1008), 0u);
  EXPECT_EQ(table->Find(0x1018), second);
}

TEST(RegionTable, ManyRegionsAtOnePlaceDoNotHideTheNewest) {
  const auto table = MakeTable();
  uint32_t last = 0;
  for (int i = 0; i < 100000; ++i) last = table->Add(0x1000, 0x1010);
  EXPECT_EQ(last, 100000u);
  EXPECT_EQ(table->Find(0x1008), last);
}

TEST(RegionTable, ThatIsFullTakesNoMore) {
  const auto table = MakeTable();
  for (uint32_t i = 1; i < RegionTable::kCapacity; ++i) {
    ASSERT_EQ(table->Add(i * 16, i * 16 + 16), i);
  }
  EXPECT_EQ(table->Add(0x7f0000000000, 0x7f0000000010), 0u);
  EXPECT_EQ(table->Find(16), 1u);
}

TEST(RegionTable, IsReadWhileItIsWritten) {
  const auto table = MakeTable();
  const uint32_t stays = table->Add(0x1800, 0x1810);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    for (int i = 0; i < 50000; ++i) table->Remove(table->Add(0x1000, 0x1010));
    is_over = true;
  });
  while (!is_over) EXPECT_EQ(table->Find(0x1808), stays);
  writer.join();
  EXPECT_EQ(table->Find(0x1008), 0u);
}

TEST(RegisteredCode, HasTheNameThatWasRegisteredLast) {
  RegisteredCode code;
  EXPECT_EQ(code.FindCode(0x1000), kNoModule);
  ASSERT_EQ(code.AddCode(0x1000, 16, "first"), Status::kOk);
  const ModuleId first = code.FindCode(0x1008);
  ASSERT_EQ(code.AddCode(0x1000, 16, "second"), Status::kOk);
  const ModuleId second = code.FindCode(0x1008);
  ASSERT_NE(code.GetCode(first), nullptr);
  EXPECT_STREQ(code.GetCode(first)->path, "first");
  EXPECT_STREQ(code.GetCode(second)->path, "second");
  EXPECT_TRUE(code.GetCode(second)->is_registered);
  EXPECT_EQ(code.GetCode(second + 1), nullptr);
  EXPECT_EQ(code.GetCode(0), nullptr);
}

TEST(RegisteredCode, RefusesWhatIsEmptyOrTooLong) {
  RegisteredCode code;
  EXPECT_EQ(code.AddCode(0x1000, 0, "empty"), Status::kBad);
  EXPECT_EQ(code.AddCode(~uint64_t{0} - 15, 32, "wraps"), Status::kBad);
  const std::string name(size_t{33} << 20, 'x');
  EXPECT_EQ(code.AddCode(0x1000, 16, name.c_str()), Status::kFull);
  EXPECT_EQ(code.FindCode(0x1000), kNoModule);
}

TEST(RegisteredCode, FramesThatMeanNothingAreRefused) {
  RegisteredCode code;
  const uint8_t bytes[64] = {0x10, 0, 0, 0, 9, 9, 9, 9};
  CfiSection section;
  section.address = reinterpret_cast<uint64_t>(bytes);
  section.size = sizeof(bytes);
  uint32_t handle = 0;
  EXPECT_EQ(code.AddFrames(section, &handle), Status::kBad);
  EXPECT_FALSE(code.RemoveFrames(1));
  EXPECT_FALSE(code.RemoveFrames(0));
}

}  // namespace
}  // namespace unspool::unwind
