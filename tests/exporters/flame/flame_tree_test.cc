#include "exporters/flame/flame_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

constexpr size_t kCpu = 1;  // index of the sample type

// One line per node: indented name, total, and the node's own value.
std::string Outline(const Profile& profile, const FlameLimits& limits) {
  const StackFrames frames(profile, false);
  const SampleGroups groups = GroupSamples(profile, kCpu);
  const FlameTree tree = BuildFlameTree(profile, frames, groups, kCpu, limits);
  std::string text;
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const FlameNode& node = tree.nodes[i];
    int64_t self = 0;
    for (size_t k = 0; k < node.value_count; ++k) {
      self += tree.values[node.first_value + k].value;
    }
    const bool is_folded = node.frame == StackFrames::kFolded;
    text += std::string(node.depth, ' ');
    text += i == 0      ? "all"
            : is_folded ? "(" + std::to_string(node.place) + " folded)"
                        : std::string(frames.frames()[node.frame].name);
    if (node.inlined) text += " inlined";
    text += " " + std::to_string(node.total) + " " + std::to_string(self);
    text += '\n';
  }
  return text;
}

NamedProfile Sorting() {
  NamedProfile profile;
  profile.Add("swap < sort < main", 1, 30);
  profile.Add("compare < sort < main", 1, 50);
  profile.Add("sort < main", 1, 8);
  profile.Add("swap < sort < main", 1, 4);
  profile.Add("read < main", 1, 7);
  profile.Add("idle", 1, 1);
  return profile;
}

TEST(FlameTree, IsRootFirstHeaviestFirstAndSummed) {
  EXPECT_EQ(Outline(Sorting().get(), {.max_nodes = 100}),
            "all 100 0\n"
            " main 99 0\n"
            "  sort 92 8\n"
            "   compare 50 50\n"
            "   swap 34 34\n"
            "  read 7 7\n"
            " idle 1 1\n");
}

TEST(FlameTree, FoldsTheLightestWithTheExactSum) {
  EXPECT_EQ(Outline(Sorting().get(), {.max_nodes = 4}),
            "all 100 0\n"
            " main 99 0\n"
            "  sort 92 8\n"
            "   compare 50 50\n"
            "   (1 folded) 34 34\n"
            "  (1 folded) 7 7\n"
            " (1 folded) 1 1\n");
  EXPECT_EQ(Outline(Sorting().get(), {.max_nodes = 2}),
            "all 100 0\n"
            " main 99 0\n"
            "  (2 folded) 99 99\n"
            " (1 folded) 1 1\n");
}

TEST(FlameTree, FoldsWhatIsBelowTheLeastShare) {
  EXPECT_EQ(Outline(Sorting().get(), {.max_nodes = 100, .min_share = 0.35}),
            "all 100 0\n"
            " main 99 0\n"
            "  sort 92 8\n"
            "   compare 50 50\n"
            "   (1 folded) 34 34\n"
            "  (1 folded) 7 7\n"
            " (1 folded) 1 1\n");
}

TEST(FlameTree, ShowsInlinedFrames) {
  NamedProfile profile;
  profile.Add("innie|outie < main", 1, 30);
  EXPECT_EQ(Outline(profile.get(), {.max_nodes = 100}),
            "all 30 0\n"
            " main 30 0\n"
            "  outie 30 0\n"
            "   innie inlined 30 30\n");
}

TEST(FlameTree, CallsAFrameInlinedThatMostlyIs) {
  for (const auto& [inlined_ns, text] :
       std::vector<std::pair<int64_t, std::string>>{{20, "g inlined 30 30"},
                                                    {15, "g 30 30"}}) {
    NamedProfile profile;
    profile.Add("g|f", 1, inlined_ns);
    profile.Add("g < f", 1, 30 - inlined_ns);
    EXPECT_EQ(Outline(profile.get(), {.max_nodes = 100}),
              "all 30 0\n f 30 0\n  " + text + "\n");
  }
}

TEST(FlameTree, TakesThePlaceWhereMostOfTheWeightIs) {
  NamedProfile named;
  named.Add("leaf < f", 1, 30);
  Profile& profile = named.get();
  const Location first = profile.locations[0];
  for (const auto& [line, value] :
       std::vector<std::pair<int64_t, int64_t>>{{7, 40}, {8, 20}, {9, 20}}) {
    const std::vector<Line> lines = {
        {profile.lines(profile.locations[0])[0].function, line}};
    Location location = first;
    profile.SetLines(location, lines);
    profile.locations.push_back(location);
    const std::vector<uint32_t> stack = {
        static_cast<uint32_t>(profile.locations.size() - 1), 1};
    profile.AddSample(stack, std::vector<int64_t>{1, value}, {});
  }
  const StackFrames frames(profile, false);
  const FlameTree tree = BuildFlameTree(
      profile, frames, GroupSamples(profile, kCpu), kCpu, {.max_nodes = 100});
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[2].total, 110);
  EXPECT_EQ(frames.places()[tree.nodes[2].place].line, 7);
}

TEST(FlameTree, SurvivesEmptyProfilesStacksAndValues) {
  NamedProfile profile;
  EXPECT_EQ(Outline(profile.get(), {.max_nodes = 100}), "all 0 0\n");
  profile.Add("f", 1, 0);
  profile.Add("", 1, 5);
  EXPECT_EQ(Outline(profile.get(), {.max_nodes = 100}), "all 5 5\n");
}

TEST(FlameTree, EndsAtTheLimitOfTheNumbers) {
  NamedProfile profile;
  profile.Add("f", 1, INT64_MAX);
  profile.Add("f", 1, INT64_MIN);
  const std::string most = std::to_string(INT64_MAX);
  const StackFrames frames(profile.get(), false);
  const FlameTree tree =
      BuildFlameTree(profile.get(), frames, GroupSamples(profile.get(), kCpu),
                     kCpu, {.max_nodes = 100});
  ASSERT_EQ(tree.nodes.size(), 2u);
  EXPECT_EQ(tree.nodes[1].total, INT64_MAX);
  ASSERT_EQ(tree.values.size(), 2u);  // before and after
  EXPECT_EQ(tree.values[0].value, INT64_MAX);
  EXPECT_EQ(tree.values[1].value, INT64_MAX);
}

TEST(FlameTree, IsDeepAsTheStack) {
  NamedProfile profile;
  std::string stack = "f";
  for (int i = 1; i < 20'000; ++i) stack += " < f";
  profile.Add(stack, 1, 30);
  const StackFrames frames(profile.get(), false);
  const FlameTree tree =
      BuildFlameTree(profile.get(), frames, GroupSamples(profile.get(), kCpu),
                     kCpu, {.max_nodes = 100'000});
  ASSERT_EQ(tree.nodes.size(), 20'001u);
  EXPECT_EQ(tree.nodes.back().depth, 20'000u);
}

TEST(StackFrames, KnowWhatIsNoOrdinaryCode) {
  const std::vector<std::pair<std::string, FrameKind>> kKinds = {
      {"main", FrameKind::kCode},
      {"[truncated: depth]", FrameKind::kTruncated},
      {"[lost: full]", FrameKind::kMissing},
      {"[unsampled]", FrameKind::kMissing},
      {"[runnable]", FrameKind::kMissing},
      {"@[kernel]", FrameKind::kKernel},
      {"@[kernel.kallsyms]", FrameKind::kKernel},
      {"@/lib/modules/6.1/ext4.ko", FrameKind::kKernel},
      {"@/usr/lib/libkernel.so", FrameKind::kCode},
      {"@[vdso]", FrameKind::kCode},
  };
  for (const auto& [frame, kind] : kKinds) {
    NamedProfile profile;
    profile.Add(frame, 1, 1);
    const StackFrames frames(profile.get(), false);
    EXPECT_EQ(frames.frames()[frames.at(0)[0].frame].kind, kind) << frame;
  }
}

}  // namespace
}  // namespace unspool::exporters
