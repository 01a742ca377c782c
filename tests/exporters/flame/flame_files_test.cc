// The whole files: bounded in size, and nothing of a profile is taken for
// markup.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exporters/export.h"
#include "exporters/flame/flame_facts.h"
#include "exporters/merge.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Write = absl::Status (*)(const Profile&, std::string_view, std::ostream&);
constexpr size_t kMaxFileBytes = 5'000'000;

std::string Written(Write write, const Profile& profile) {
  std::ostringstream out;
  const absl::Status status = write(profile, "", out);
  EXPECT_TRUE(status.ok()) << status;
  return std::move(out).str();
}

// 200,000 distinct stacks, 3,000 frames deep, names of 2 KB that no compression
// makes smaller.
Profile TooBigToOpen() {
  constexpr uint32_t kNames = 3000, kDepth = 3000, kStacks = 200'000;
  NamedProfile named;
  std::mt19937 random(1);
  std::string name(2048, ' ');
  std::string stack;
  for (uint32_t i = 0; i < kNames; ++i) {
    for (char& c : name) c = static_cast<char>('!' + random() % 90);
    std::erase_if(name, [](char c) { return c == '|' || c == '@'; });
    name.resize(2048, 'x');
    stack += (i == 0 ? "" : " < ") + name;
  }
  named.Add(stack, 1, 1'000'000);
  Profile& profile = named.get();
  // The shared part, from the root, then a path of its own to the leaf.
  std::vector<uint32_t> locations(kDepth);
  for (uint32_t i = 0; i < kStacks; ++i) {
    const uint32_t depth = 3 + i % 40 + (i % 1000 == 0 ? kDepth - 50 : 0);
    locations.resize(depth);
    for (uint32_t k = 0; k < depth; ++k) {
      locations[k] = k < 3 ? random() % kNames : kNames - 1 - (depth - k);
    }
    profile.AddSample(locations, std::vector<int64_t>{1, 10'000'000 + i}, {});
  }
  return std::move(profile);
}

TEST(FlameFiles, OF06FitIn5MegabytesWhateverTheProfile) {
  const Profile profile = TooBigToOpen();
  const std::string html = Written(WriteFlameHtml, profile);
  EXPECT_LT(html.size(), kMaxFileBytes);
  EXPECT_GT(html.size(), 100'000u);
  const std::string svg = Written(WriteFlameSvg, profile);
  EXPECT_LT(svg.size(), kMaxFileBytes);
  EXPECT_THAT(svg, HasSubstr("smaller frames"));
}

TEST(FlameFiles, SvgFitsAlsoWhereEscapingMakesNamesLonger) {
  NamedProfile profile;
  for (int i = 0; i < 9000; ++i) {
    // One under the other: none is below the least share.
    std::string name(300, '&');
    profile.Add(name + std::to_string(i), 1, 1);
  }
  std::string stack = "f";
  for (int i = 0; i < 9000; ++i) {
    stack += " < " + std::string(200, '&') + std::to_string(i);
  }
  profile.Add(stack, 1, 1'000'000);
  EXPECT_LT(Written(WriteFlameSvg, profile.get()).size(), kMaxFileBytes);
}

TEST(FlameFiles, HoldNoMarkupOfTheProfiles) {
  NamedProfile profile;
  profile.Add("</script><script>alert(1)</script> < <!-- < ]]> < @DATA@", 1, 9);
  const std::string html = Written(WriteFlameHtml, profile.get());
  EXPECT_THAT(html, Not(HasSubstr("alert")));
  const std::string svg = Written(WriteFlameSvg, profile.get());
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<!--")));
  EXPECT_THAT(svg, Not(HasSubstr("]]>")));
}

TEST(FlameFiles, SvgIsUtf8ThatXmlAllows) {
  NamedProfile profile;
  profile.Add("ok\xc3\xa9 \xff\xc3(\xed\xa0\x80\xef\xbf\xbf\xc0\x80\x01|", 1,
              9);
  const std::string svg = Written(WriteFlameSvg, profile.get());
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_THAT(svg, HasSubstr("oké " + bad + bad + "(" + bad + bad + bad + bad +
                             bad + bad + bad + bad + bad));
  EXPECT_THAT(svg, Not(HasSubstr("\xff")));
}

TEST(FlameFiles, SvgShowsNamesFiguresAndSigns) {
  NamedProfile profile;
  profile.Add("innie|outie < main", 1, 750'000'000);
  profile.Add("other < main", 1, 250'000'000);
  const std::string svg = Written(WriteFlameSvg, profile.get());
  EXPECT_THAT(svg, HasSubstr("<title>main\n1s (100.00%)\napp</title>"));
  EXPECT_THAT(
      svg,
      HasSubstr("<title>↳ innie\n750ms (75.00%), self 750ms\napp</title>"));
  EXPECT_THAT(svg, HasSubstr(">↳ innie</text>"));
}

TEST(FlameFiles, SvgMarksWhatIsNoOrdinaryCode) {
  NamedProfile named;
  named.Add("inner|outer < main", 1, 200);
  named.Add("@[kernel.kallsyms] < main", 1, 200);
  named.Add("deep < [truncated: depth]", 1, 200);
  named.Add("[unsampled]", 1, 200);
  const std::string plain = Written(WriteFlameSvg, named.get());
  EXPECT_THAT(plain, HasSubstr(">◆ [[kernel.kallsyms]]</text>"));
  EXPECT_THAT(plain, HasSubstr("class=\"m1 x k\""));
  EXPECT_THAT(plain, HasSubstr(">✂ [truncated: depth]</text>"));
  EXPECT_THAT(plain, HasSubstr(">∅ [unsampled]</text>"));
  EXPECT_THAT(plain,
              HasSubstr("<text class=\"i\" x=\"14.0\" y=\"131\">↳ inner<"));
  for (const char* legend :
       {">◆ kernel<", ">✂ cut short<", ">∅ stack unknown<", ">↳ inlined<"}) {
    EXPECT_THAT(plain, HasSubstr(legend));
  }
  EXPECT_THAT(plain, Not(HasSubstr("? ")));
}

TEST(FlameFiles, SvgMarksWhatIsMostlyGuessed) {
  NamedProfile named;
  named.Add("leaf < f < main", 1, 200);
  named.Add("g < main", 1, 300);
  Profile& profile = named.get();
  const Sample leaf = profile.sample(0);
  const std::vector<uint32_t> stack(leaf.locations.begin(),
                                    leaf.locations.end());
  const std::vector<Label> labels = {
      {.key = profile.strings.Intern("unwind"),
       .str = profile.strings.Intern("guessed")}};
  profile.AddSample(stack, std::vector<int64_t>{1, 201}, labels);
  const std::string svg = Written(WriteFlameSvg, profile);
  // 201 of main's 701 are guessed, of f's 401.
  EXPECT_THAT(svg, HasSubstr("<title>main\n"));
  EXPECT_THAT(svg, HasSubstr("<title>? f\n"));
  EXPECT_THAT(svg, HasSubstr("class=\"m0 x g\""));
  EXPECT_THAT(svg, HasSubstr(">? guessed<"));
}

// Of another length and another binary, as two runs are.
TEST(FlameFiles, SvgOfADifferenceSaysWhatGrewAndShrank) {
  NamedProfile before, after;
  before.Add("grown < main", 1, 100);
  before.Add("shrunk < main", 1, 280);
  before.Add("gone < main", 1, 20);
  after.Add("grown < main", 1, 1400);
  after.Add("shrunk < main", 1, 500);
  after.Add("new < main", 1, 100);
  Profile& now = after.get();
  now.mappings[0].filename = now.strings.Intern("/bin/app2");
  before.get().AddComment("unspool.command", "app <1>");
  now.AddComment("unspool.command", "app2");
  const absl::StatusOr<Profile> diff = Diff(before.get(), now);
  ASSERT_TRUE(diff.ok());
  const std::string svg = Written(WriteFlameSvg, *diff);
  for (const char* text :
       {">app &lt;1&gt; → app2<", ">400ns → 2us cpu, each as 100%",
        "<title>main\n400ns (100.00%) → 2us (100.00%), +0.00%",
        "100ns (25.00%) → 1.40us (70.00%), +45.00%", ">+45.00% grown</text>",
        "280ns (70.00%) → 500ns (25.00%), -45.00%", "<title>new +5.00% new\n",
        "<title>gone -5.00% gone\n", "class=\"u3\"", "class=\"d3\"",
        ">grew (+)<", ">shrank (-)<"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

TEST(FlameFiles, ColorsOfADifferenceOfNoiseAreWeak) {
  NamedProfile before, after;
  before.Add("f < main", 1, 5000);
  before.Add("g < main", 1, 5000);
  after.Add("f < main", 1, 5010);
  after.Add("g < main", 1, 4990);
  const absl::StatusOr<Profile> diff = Diff(before.get(), after.get());
  ASSERT_TRUE(diff.ok());
  const std::string svg = Written(WriteFlameSvg, *diff);
  EXPECT_THAT(svg, HasSubstr("<rect class=\"u1\" x=\"10.0\""));
  EXPECT_THAT(svg, HasSubstr("<rect class=\"d1\" x=\"600.6\""));
}

TEST(FlameFiles, ADifferenceIsOneEvenWithNothingBefore) {
  NamedProfile none, some;
  some.Add("f", 1, 100);
  const absl::StatusOr<Profile> diff = Diff(none.get(), some.get());
  ASSERT_TRUE(diff.ok());
  EXPECT_THAT(Written(WriteFlameSvg, *diff),
              HasSubstr(">0 → 100ns cpu, each as 100%"));
}

TEST(FlameFiles, AreMadeOfEmptyProfilesToo) {
  EXPECT_THAT(Written(WriteFlameHtml, NamedProfile().get()),
              HasSubstr("</html>"));
  EXPECT_THAT(Written(WriteFlameSvg, NamedProfile().get()),
              HasSubstr("</svg>"));
}

TEST(FlameFiles, RefuseAnUnknownValue) {
  for (Write write : {WriteFlameHtml, WriteFlameSvg}) {
    std::ostringstream out;
    const absl::Status status = write(NamedProfile().get(), "wall", out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ShortenMiddle, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(ShortenMiddle("short", 16), "short");
  EXPECT_EQ(ShortenMiddle("std::map<int, std::string>::find", 16),
            "std::map…:find");
  const std::string accents = ShortenMiddle("ééééééééééééé", 16);
  EXPECT_EQ(accents, "éééé…éé");
  EXPECT_LE(accents.size(), 16u);
  EXPECT_EQ(ShortenMiddle(std::string(40, '\x80'), 16).size(), 10u);
}

}  // namespace
}  // namespace unspool::exporters
