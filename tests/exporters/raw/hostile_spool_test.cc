// Spools that lie, as a profile: a status, or a profile that is valid and says
// what is missing.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>

#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::ChunkHeader;
using collectors::kSpoolPageSize;
using collectors::SpoolHeader;
using collectors::StackNode;
using collectors::TestImage;
using collectors::TestModule;
using unwind::WalkEnd;

// Image, modules, four pages of nodes, thread (see the spool's reader test).
constexpr size_t kFirstNodeAt = 4 * kSpoolPageSize + sizeof(ChunkHeader);

std::vector<uint8_t> GoodSpool() {
  Recording recording;
  recording.BeginImage(TestImage());
  EXPECT_TRUE(recording.writer().AddModule(
      0, TestModule(0x10000, 0x9000, 1, "/usr/bin/app")));
  auto& log = recording.AddThread(4711, "app");
  for (uint64_t i = 0; i < 50; ++i) {
    recording.Sample(log, {{0x11000 + i, 0, true, false}, {i, 9, false, true}},
                     static_cast<WalkEnd>(i % unwind::kWalkEndCount), 10);
  }
  return recording.Bytes();
}

template <typename T>
void Put(std::vector<uint8_t>& bytes, size_t offset, T value) {
  ASSERT_LE(offset + sizeof(value), bytes.size());
  memcpy(bytes.data() + offset, &value, sizeof(value));
}

TEST(HostileSpool, StatusSaysWhatItIs) {
  const std::vector<uint8_t> good = GoodSpool();
  std::vector<uint8_t> foreign = good;
  Put(foreign, 0, uint64_t{0x1234});
  std::vector<uint8_t> newer = good;
  Put(newer, offsetof(SpoolHeader, version), uint32_t{2});
  std::vector<uint8_t> imageless = good;
  Put(imageless, 2 * kSpoolPageSize, uint32_t{0});
  const std::vector<uint8_t> cut(good.begin(), good.begin() + kSpoolPageSize);
  const struct {
    const char* name;
    std::span<const uint8_t> bytes;
    RawStatus expected;
  } kRows[] = {{"nothing", {}, RawStatus::kNotASpool},
               {"foreign", foreign, RawStatus::kNotASpool},
               {"newer", newer, RawStatus::kWrongVersion},
               {"no image", imageless, RawStatus::kCorrupt},
               {"cut", cut, RawStatus::kCorrupt},
               {"good", good, RawStatus::kOk}};
  for (const auto& row : kRows) {
    std::string out;
    EXPECT_EQ(WriteToString(row.bytes, {}, &out), row.expected) << row.name;
    EXPECT_EQ(out.empty(), row.expected != RawStatus::kOk) << row.name;
  }
}

TEST(HostileSpool, StacksThatAreNotThereAreLossesWithTheirWeight) {
  std::vector<uint8_t> bytes = GoodSpool();
  // The first sample's caller never was completed, the second's is of a root
  // that there is not.
  Put(bytes, kFirstNodeAt, uint32_t{0});
  Put(bytes, kFirstNodeAt + 2 * sizeof(StackNode), uint32_t{15});
  const WrittenProfile written(bytes);
  ExpectValid(written);
  EXPECT_EQ(written.totals().samples, 48u);
  EXPECT_EQ(written.totals().lost, 2u);
  EXPECT_EQ(written.totals().weight_ns, 500u);
  EXPECT_EQ(written.Stacks().at("[lost: unreadable]"),
            (std::vector<int64_t>{0, 20}));
  EXPECT_EQ(written.Comments().at("lost.unreadable"), "2");
}

TEST(HostileSpool, AnyBytesGiveAStatusOrAValidProfile) {
  const std::vector<uint8_t> good = GoodSpool();
  std::mt19937 random(20240301);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes = good;
    const int changes = 1 + random() % 10;
    for (int i = 0; i < changes; ++i) {
      const size_t page = random() % (bytes.size() / kSpoolPageSize);
      const size_t range = random() % 4 == 0 ? kSpoolPageSize : 300;
      bytes[page * kSpoolPageSize + random() % range] = random();
    }
    std::string out;
    if (WriteToString(bytes, {}, &out) != RawStatus::kOk) continue;
    ExpectValid(WrittenProfile(bytes));
  }
}

}  // namespace
}  // namespace unspool::exporters
