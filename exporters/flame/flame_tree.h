// All stacks of a profile as one tree, root first, of a bounded number of
// nodes: the heaviest are kept, the others folded into their callers with the
// exact sum. Its time follows the samples, its memory the kept nodes.

#ifndef UNSPOOL_EXPORTERS_FLAME_FLAME_TREE_H_
#define UNSPOOL_EXPORTERS_FLAME_FLAME_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exporters/flame/sample_groups.h"
#include "exporters/flame/stack_frames.h"
#include "exporters/profile.h"

namespace unspool::exporters {

struct FlameLimits {
  size_t max_nodes = 0;    // folded ones come on top: at most one per node
  double min_share = 0.0;  // of the root's total; smaller ones are folded
};

struct FlameNode {
  uint32_t frame = 0;  // StackFrames::frames; StackFrames::kFolded
  // Where most of its weight lies: StackFrames::places. In a folded node: the
  // number of children of its parent that it stands for.
  uint32_t place = 0;
  uint32_t depth = 0;    // the root's is 0
  bool inlined = false;  // more than half of its weight
  int64_t total = 0;     // of absolute values, with all below it
  size_t first_value = 0;
  size_t value_count = 0;
};

// What samples of one group add to a node itself: never negative.
struct FlameValue {
  uint32_t group;
  int64_t value;
};

struct FlameTree {
  // Preorder; node 0 is the root, above all stacks, its frame of no meaning.
  // Siblings by weight, the heaviest first, a folded one last.
  std::vector<FlameNode> nodes;
  std::vector<FlameValue> values;
};

// Preconditions: `value_index` is one of the profile's sample types; `frames`
// and `groups` are of this profile. Sums end at the limits of int64_t.
// Any thread. Not async-signal-safe: allocates.
FlameTree BuildFlameTree(const Profile& profile, const StackFrames& frames,
                         const SampleGroups& groups, size_t value_index,
                         const FlameLimits& limits);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_FLAME_TREE_H_
