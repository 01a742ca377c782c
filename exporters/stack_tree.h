// All stacks of a profile as one tree, root first: what folded output and
// pictures are drawn from. Its size follows the distinct stacks, not the
// samples.

#ifndef UNSPOOL_EXPORTERS_STACK_TREE_H_
#define UNSPOOL_EXPORTERS_STACK_TREE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

  // An empty tree, to be built from paths of one's own: Add() for each, the
  // outermost name first, then Finish() once, and children() after that.
  // Not async-signal-safe: allocate.
  StackTree() : nodes_(1) {}
  void Add(std::span<const uint32_t> path, int64_t value);
  void Finish(const FrameNames& names);

  // Node 0 is the root, above all stacks; parents come before children.
  const std::vector<Node>& nodes() const { return nodes_; }

  // The children of a node, ordered by name.
  std::span<const uint32_t> children(uint32_t node) const {
    return std::span(children_).subspan(
        first_child_[node], first_child_[node + 1] - first_child_[node]);
  }

 private:
  // While it is built. The last path and its nodes: the next one often begins
  // like it.
  absl::flat_hash_map<uint64_t, uint32_t> child_of_;  // parent << 32 | name
  std::vector<uint32_t> last_path_;
  std::vector<uint32_t> last_nodes_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> children_;     // node indices, by parent
  std::vector<uint32_t> first_child_;  // in children_, by node, and the end
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_STACK_TREE_H_
