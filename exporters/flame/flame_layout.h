// What the nodes of a flame tree are worth, with all below them, and where they
// stand in a picture that is as wide as the root.
//
// In a difference a node's width is the mean of its shares of both profiles, so
// that what is new and what is gone both have one (as page/tree.js has it).

#ifndef UNSPOOL_EXPORTERS_FLAME_FLAME_LAYOUT_H_
#define UNSPOOL_EXPORTERS_FLAME_FLAME_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exporters/flame/flame_tree.h"
#include "exporters/flame/sample_groups.h"

namespace unspool::exporters {

// Built once, then const: any number of threads may read it. `node` is an index
// into FlameTree::nodes; shares are of the root's value, 0 to 1.
class FlameLayout {
 public:
  // Preconditions: `groups` are those that `tree` was built with; its nodes are
  // not empty. Not async-signal-safe: allocates.
  FlameLayout(const FlameTree& tree, const SampleGroups& groups,
              bool is_difference);

  int64_t total(size_t node) const { return after_[node]; }
  int64_t before(size_t node) const { return before_[node]; }
  int64_t self(size_t node) const { return self_[node]; }
  double share(size_t node) const { return Share(after_, node); }
  double share_before(size_t node) const { return Share(before_, node); }
  double change(size_t node) const { return share(node) - share_before(node); }
  // Of a difference's profile, the largest in either direction.
  double largest_change() const { return largest_change_; }

  // Most of its weight comes from stacks that were guessed in part.
  bool is_guessed(size_t node) const {
    return guessed_[node] > (after_[node] / 2) + before_[node] / 2;
  }

  double left(size_t node) const { return left_[node]; }
  double width(size_t node) const {
    if (!is_difference_) return share(node);
    return (share(node) + share_before(node)) / 2;
  }

 private:
  static double Share(const std::vector<int64_t>& values, size_t node) {
    if (values[0] == 0) return 0;
    return static_cast<double>(values[node]) / static_cast<double>(values[0]);
  }
  void AddOwnValues(const FlameTree& tree, const SampleGroups& groups);
  void AddToCallers(const FlameTree& tree);

  bool is_difference_;
  double largest_change_ = 0;
  std::vector<int64_t> after_, before_, guessed_, self_;  // by node
  std::vector<double> left_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_FLAME_LAYOUT_H_
