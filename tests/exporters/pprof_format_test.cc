#include "exporters/pprof_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/exporters/elf_program.h"

namespace unspool::exporters {
namespace {

using testing::HasSubstr;

// Every field set, each to another value.
Profile FullProfile() {
  Profile profile = NewCpuProfile();
  StringTable& strings = profile.strings;
  profile.mappings = {{0x1000, 0x3000, 0x200, strings.Intern("/bin/a"),
                       strings.Intern("ab12"), true, false, true, false},
                      {0x7000, 0x9000, 0x400, strings.Intern("/lib/b"),
                       strings.Intern("cd34"), false, true, false, true}};
  profile.functions = {{strings.Intern("f(int)"), strings.Intern("_Z1fi"),
                        strings.Intern("f.cc"), 11},
                       {strings.Intern("g()"), strings.Intern("_Z1gv"),
                        strings.Intern("g.cc"), 22}};
  profile.locations = {{.address = 0x1500, .mapping = 0, .is_folded = true},
                       {.address = 0x7500, .mapping = 1},
                       {.address = 0xffffffffffffffff}};
  profile.SetLines(profile.locations[0], std::vector<Line>{{0, 111}, {1, 222}});
  profile.SetLines(profile.locations[1], std::vector<Line>{{1, 333}});
  profile.AddSample(std::vector<uint32_t>{0, 1, 0},
                    std::vector<int64_t>{5, 50'000'000},
                    std::vector<Label>{
                        {strings.Intern("tid"), 0, 77, strings.Intern("id")},
                        {strings.Intern("thread"), strings.Intern("w"), 0, 0}});
  profile.AddSample(std::vector<uint32_t>{2},
                    std::vector<int64_t>{-6, INT64_MIN}, {});
  profile.AddSample({}, std::vector<int64_t>{0, 9}, {});
  profile.AddComment("unspool.lost", "3");
  profile.drop_frames = strings.Intern("drop.*");
  profile.keep_frames = strings.Intern("keep.*");
  return profile;
}

TEST(PprofFormat, RoundTripsEveryField) {
  const std::string bytes = EncodePprof(FullProfile());
  const auto back = DecodePprof(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  // The encoder writes all there is, so equal bytes are equal profiles…
  EXPECT_EQ(EncodePprof(*back), bytes);
  // …given that both directions agree on which field is which.
  EXPECT_EQ(back->sample_count(), 3u);
  EXPECT_EQ(back->sample(1).values[1], INT64_MIN);
  EXPECT_EQ(back->sample(0).labels[0].num, 77);
  EXPECT_EQ(back->strings[back->sample(0).labels[0].num_unit], "id");
  EXPECT_EQ(back->strings[back->sample(0).labels[1].str], "w");
  EXPECT_EQ(back->mappings[1].memory_start, 0x7000u);
  EXPECT_EQ(back->mappings[1].memory_limit, 0x9000u);
  EXPECT_EQ(back->mappings[1].file_offset, 0x400u);
  EXPECT_EQ(back->strings[back->mappings[1].build_id], "cd34");
  EXPECT_TRUE(back->mappings[0].has_line_numbers);
  EXPECT_FALSE(back->mappings[0].has_inline_frames);
  EXPECT_EQ(back->locations[2].mapping, kNoIndex);
  EXPECT_TRUE(back->locations[0].is_folded);
  EXPECT_EQ(FrameTexts(*back, 0),
            (std::vector<std::string>{"f(int) f.cc:111", "g() g.cc:222"}));
  EXPECT_EQ(back->functions[1].start_line, 22);
  EXPECT_EQ(back->strings[back->functions[0].system_name], "_Z1fi");
  EXPECT_EQ(back->FindComment("unspool.lost"), "3");
  EXPECT_EQ(back->strings[back->default_sample_type], "cpu");
  EXPECT_EQ(back->strings[back->keep_frames], "keep.*");
  EXPECT_EQ(back->period, 10'000'000);
}

TEST(PprofFormat, EveryTruncationIsAnError) {
  const std::string bytes = EncodePprof(FullProfile());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodePprof(std::string_view(bytes).substr(0, size)).ok())
        << size;
  }
}

TEST(PprofFormat, EveryFlippedBitIsReadOrRefused) {
  const std::string bytes = EncodePprof(FullProfile());
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const auto profile = DecodePprof(flipped);
    if (!profile.ok()) {
      ++refused;
    } else {
      EXPECT_TRUE(DecodePprof(EncodePprof(*profile)).ok()) << bit;
    }
  }
  EXPECT_GT(refused, bytes.size());
}

// Pieces of a profile, by protobuf's encoding: tag = number << 3 | wire type.
std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(0x80 | (value & 0x7f));
  }
  return out + static_cast<char>(value);
}
std::string Number(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field) << 3) + Varint(value);
}
std::string Bytes(int field, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(bytes.size()) +
         bytes;
}

const std::string kSampleType = Bytes(1, Number(1, 1) + Number(2, 2));
const std::string kStrings = Bytes(6, "") + Bytes(6, "cpu") + Bytes(6, "ns");

TEST(PprofFormat, ReadsWhatOthersWrite) {
  const struct {
    const char* name;
    std::string bytes;
  } kGood[] = {
      {"smallest", kSampleType + kStrings},
      {"string table first", kStrings + kSampleType},
      {"unknown field",
       kSampleType + kStrings + Bytes(15, "doc") + Number(99, 1)},
      {"unpacked ids",
       kSampleType + kStrings + Bytes(4, Number(1, 7)) +
           Bytes(2, Number(1, 7) + Number(1, 7) + Number(2, 5))},
      {"packed ids", kSampleType + kStrings + Bytes(4, Number(1, 7)) +
                         Bytes(2, Bytes(1, "\x07\x07") + Bytes(2, "\x05"))},
      {"ids in no order", kSampleType + kStrings + Bytes(4, Number(1, 9)) +
                              Bytes(4, Number(1, 3))},
      {"packed comments", kSampleType + kStrings + Bytes(13, "\x01\x02")},
  };
  for (const auto& [name, bytes] : kGood) {
    const auto profile = DecodePprof(bytes);
    EXPECT_TRUE(profile.ok()) << name << ": " << profile.status();
  }
}

TEST(PprofFormat, RefusesWhatIsNoProfile) {
  const std::string location = Bytes(4, Number(1, 7));
  const struct {
    std::string bytes;
    const char* message;
  } kBad[] = {
      {"", "not a profile"},
      {"hello, world\n", "not a profile"},
      {"\x7f"
       "ELF\x02\x01\x01",
       "not a profile"},
      {kStrings, "not a profile"},
      {Number(1, 5) + kStrings, "not a profile"},
      {kSampleType, "no string table"},
      {kSampleType + Bytes(6, "cpu"), "string 0"},
      {kSampleType + Bytes(6, "") + Bytes(6, "cpu"), "string is missing"},
      {kSampleType + kStrings + Number(14, 3), "string is missing"},
      {kSampleType + kStrings + Number(14, UINT64_MAX), "string is missing"},
      {kSampleType + kStrings + location + location, "not new"},
      {kSampleType + kStrings + Bytes(4, Number(3, 5)), "id 0"},
      {kSampleType + kStrings + Bytes(4, Number(1, 7) + Number(2, 1)),
       "without its mapping"},
      {kSampleType + kStrings + Bytes(4, Number(1, 7) + Bytes(4, "")),
       "without its function"},
      {kSampleType + kStrings + Bytes(2, Number(1, 7) + Number(2, 5)),
       "without its location"},
      {kSampleType + kStrings + Bytes(2, ""), "values"},
      {kSampleType + kStrings + Bytes(2, Number(2, 5) + Number(2, 5)),
       "values"},
      {kSampleType + kStrings + Bytes(5, Number(1, 1) + Number(2, 3)),
       "string is missing"},
      {kSampleType + kStrings + Bytes(3, Number(1, 1) + Number(5, 3)),
       "string is missing"},
      {kSampleType + kStrings + Bytes(2, Number(2, 5) + Bytes(3, Number(1, 3))),
       "string is missing"},
      {kSampleType + kStrings + Bytes(2, "\xff"), "malformed"},
      {kSampleType + kStrings + "\x12\x7f", "truncated"},
      {kSampleType + kStrings + Number(2, 5), "corrupt"},
  };
  for (const auto& [bytes, message] : kBad) {
    const auto profile = DecodePprof(bytes);
    EXPECT_EQ(profile.status().code(), absl::StatusCode::kInvalidArgument)
        << message;
    EXPECT_THAT(std::string(profile.status().message()), HasSubstr(message));
  }
}

}  // namespace
}  // namespace unspool::exporters
