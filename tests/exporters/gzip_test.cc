#include "exporters/gzip.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/exporters/command.h"

namespace unspool::exporters {
namespace {

std::string RandomBytes(size_t size) {
  std::mt19937 random(7);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(Gzip, RoundTripsAnySize) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{300'000}}) {
    const std::string bytes = RandomBytes(size);
    const auto back = Gunzip(Gzip(bytes), size);
    ASSERT_TRUE(back.ok()) << size << back.status();
    EXPECT_EQ(*back, bytes) << size;
  }
}

TEST(Gzip, IsReadByGzip) {
  const CommandResult result = RunCommand("gzip -dc", Gzip("some text\n"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "some text\n");
}

TEST(Gzip, ReadsWhatGzipWroteAndSeveralMembers) {
  const std::string first = RunCommand("gzip -9c", "first,").out;
  const auto both = Gunzip(first + Gzip("second"), 100);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(*both, "first,second");
}

TEST(Gzip, RefusesEveryTruncation) {
  const std::string whole = Gzip("a text that is worth compressing, a text");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Gunzip(whole.substr(0, size), 1000).ok()) << size;
  }
}

TEST(Gzip, RefusesTrailingGarbageAndFlippedBits) {
  const std::string whole = Gzip(RandomBytes(1000));
  EXPECT_FALSE(Gunzip(whole + "x", 2000).ok());
  std::string flipped = whole;
  flipped[500] ^= 1;
  EXPECT_FALSE(Gunzip(flipped, 2000).ok());
}

TEST(Gzip, StopsAtTheLimit) {
  const std::string bomb = Gzip(std::string(50'000'000, '\0'));
  ASSERT_LT(bomb.size(), 500'000u);
  const auto result = Gunzip(bomb, 1'000'000);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message(), "too large when decompressed");
  EXPECT_TRUE(Gunzip(bomb, 50'000'000).ok());
  EXPECT_FALSE(Gunzip(bomb, 49'999'999).ok());
}

}  // namespace
}  // namespace unspool::exporters
