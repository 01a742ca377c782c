#include "exporters/gperftools_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace unspool::exporters {
namespace {

using testing::ElementsAre;

constexpr char kMaps[] =
    "00400000-00401000 r--p 00000000 08:01 7      /bin/with space\n"
    "00401000-00402000 r-xp 00001000 08:01 7      /bin/with space\n"
    "7f0000000000-7f0000002000 r-xp 00000000 00:00 0 \n"
    "build=/bin/app\n"
    "7ffff000-80000000 r-xp 00000000 00:00 0      [vdso]\n";

std::string Words(const std::vector<uint64_t>& words) {
  std::string bytes(words.size() * sizeof(uint64_t), '\0');
  memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::string File(std::vector<uint64_t> samples, uint64_t period_us = 10000) {
  std::vector<uint64_t> words = {0, 3, 0, period_us, 0};
  words.insert(words.end(), samples.begin(), samples.end());
  for (uint64_t word : {0, 1, 0}) words.push_back(word);
  return Words(words) + kMaps;
}

TEST(Gperftools, ReadsSamplesAndExecutableMappings) {
  const std::string file =
      File({2, 3, 0x401010, 0x401021, 0x7ffff031, 1, 1, 0x500000});
  ASSERT_TRUE(IsGperftoolsProfile(file));
  const absl::StatusOr<Profile> profile = DecodeGperftools(file);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->period, 10'000'000);
  ASSERT_EQ(profile->mappings.size(), 3u);
  EXPECT_EQ(profile->strings[profile->mappings[0].filename], "/bin/with space");
  EXPECT_EQ(profile->mappings[0].file_offset, 0x1000u);
  EXPECT_EQ(profile->strings[profile->mappings[1].filename], "");
  ASSERT_EQ(profile->sample_count(), 2u);
  EXPECT_THAT(profile->sample(0).values, ElementsAre(2, 20'000'000));
  std::vector<uint64_t> addresses;
  std::vector<uint32_t> mappings;
  for (const Location& location : profile->locations) {
    addresses.push_back(location.address);
    mappings.push_back(location.mapping);
  }
  // Callers are return addresses, less one; 0x500000 lies nowhere.
  EXPECT_THAT(addresses, ElementsAre(0x401010, 0x401020, 0x7ffff030, 0x500000));
  EXPECT_THAT(mappings, ElementsAre(0, 0, 2, kNoIndex));
}

TEST(Gperftools, ALeafThatIsThereTwiceCountsOnce) {
  const absl::StatusOr<Profile> profile =
      DecodeGperftools(File({1, 3, 0x401010, 0x401010, 0x401021}));
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->sample(0).locations.size(), 2u);
}

TEST(Gperftools, EveryTruncationIsAnError) {
  const std::string file = File({2, 2, 0x401010, 0x401021});
  const size_t words_end = file.size() - strlen(kMaps);
  for (size_t size = 40; size < words_end; ++size) {
    EXPECT_FALSE(DecodeGperftools(file.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(DecodeGperftools(file.substr(0, words_end)).ok());
}

TEST(Gperftools, HostileNumbersEndAtTheLimits) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_FALSE(DecodeGperftools(File({1, kMax, 0x401010})).ok());
  const absl::StatusOr<Profile> profile =
      DecodeGperftools(File({kMax, 1, 0x401010}));
  ASSERT_TRUE(profile.ok());
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(profile->sample(0).values, ElementsAre(kMost, kMost));
  EXPECT_FALSE(IsGperftoolsProfile(File({}, kMax)));
  EXPECT_FALSE(IsGperftoolsProfile(File({}, 0)));
  EXPECT_FALSE(IsGperftoolsProfile(Words({0, 3, 0, 10000})));
}

}  // namespace
}  // namespace unspool::exporters
