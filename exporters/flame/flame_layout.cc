#include "exporters/flame/flame_layout.h"

#include <algorithm>
#include <cmath>

#include "exporters/sample_value.h"

namespace unspool::exporters {

FlameLayout::FlameLayout(const FlameTree& tree, const SampleGroups& groups,
                         bool is_difference)
    : is_difference_(is_difference),
      after_(tree.nodes.size()),
      before_(tree.nodes.size()),
      guessed_(tree.nodes.size()),
      left_(tree.nodes.size()) {
  AddOwnValues(tree, groups);
  self_ = after_;
  AddToCallers(tree);
}

void FlameLayout::AddOwnValues(const FlameTree& tree,
                               const SampleGroups& groups) {
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    const FlameNode& node = tree.nodes[i];
    for (size_t k = 0; k < node.value_count; ++k) {
      const FlameValue& value = tree.values[node.first_value + k];
      const SampleGroup& group = groups.groups[value.group];
      int64_t& sum = group.before ? before_[i] : after_[i];
      sum = AddValues(sum, value.value);
      if (group.guessed) guessed_[i] = AddValues(guessed_[i], value.value);
    }
  }
}

void FlameLayout::AddToCallers(const FlameTree& tree) {
  std::vector<size_t> parent(tree.nodes.size());
  std::vector<size_t> path;
  for (size_t i = 0; i < parent.size(); ++i) {
    path.resize(tree.nodes[i].depth);
    parent[i] = path.empty() ? 0 : path.back();
    path.push_back(i);
  }
  for (size_t i = parent.size(); i-- > 1;) {
    for (std::vector<int64_t>* sums : {&after_, &before_, &guessed_}) {
      int64_t& sum = (*sums)[parent[i]];
      sum = AddValues(sum, (*sums)[i]);
    }
  }
  std::vector<double> next(left_.size());  // where the next child begins
  for (size_t i = 1; i < left_.size(); ++i) {
    left_[i] = next[i] = next[parent[i]];
    next[parent[i]] += width(i);
    largest_change_ = std::max(largest_change_, std::abs(change(i)));
  }
}

}  // namespace unspool::exporters
