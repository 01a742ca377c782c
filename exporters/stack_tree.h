// All stacks of a profile as one tree, root first: what folded output and
// pictures are drawn from. Its size follows the distinct stacks, not the
// samples.

#ifndef UNSPOOL_EXPORTERS_STACK_TREE_H_
#define UNSPOOL_EXPORTERS_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exporters/frame_names.h"
#include "exporters/profile.h"

namespace unspool::exporters {

class StackTree {
 public:
  struct Node {
    uint32_t name = 0;    // a number of the FrameNames; unused in the root
    uint32_t parent = 0;  // index; the root's is itself
    int64_t self = 0;     // value of the samples that end here
  };

  // Sums up values[value_index] of all samples; those with 0 leave no node.
  // Not async-signal-safe: allocates.
  StackTree(const Profile& profile, const FrameNames& names,
            size_t value_index);

  // Node 0 is the root, above all stacks; parents come before children.
  const std::vector<Node>& nodes() const { return nodes_; }

  // The children of each node, ordered by name.
  // Not async-signal-safe: allocates.
  std::vector<std::vector<uint32_t>> SortedChildren(
      const FrameNames& names) const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_STACK_TREE_H_
