#include "exporters/stack_tree.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "exporters/sample_value.h"

namespace unspool::exporters {

StackTree::StackTree(const Profile& profile, const FrameNames& names,
                     size_t value_index)
    : StackTree() {
  std::vector<uint32_t> path;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    if (sample.values[value_index] == 0) continue;
    names.CollectPath(sample, &path);
    Add(path, sample.values[value_index]);
  }
  Finish(names);
}

void StackTree::Add(std::span<const uint32_t> path, int64_t value) {
  uint32_t node = 0;
  for (uint32_t name : path) {
    const auto [entry, is_new] = child_of_.try_emplace(
        uint64_t{node} << 32 | name, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({.name = name, .parent = node});
    node = entry->second;
  }
  nodes_[node].self = AddValues(nodes_[node].self, value);
}

void StackTree::Finish(const FrameNames& names) {
  child_of_ = {};
  std::vector<uint32_t> by_name(names.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::ranges::sort(by_name, {},
                    [&names](uint32_t n) { return names.name(n); });
  std::vector<uint32_t> rank(names.size());
  for (uint32_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = i;

  children_.resize(nodes_.size() - 1);
  std::iota(children_.begin(), children_.end(), 1);
  std::ranges::sort(children_, {}, [this, &rank](uint32_t node) {
    return uint64_t{nodes_[node].parent} << 32 | rank[nodes_[node].name];
  });
  first_child_.assign(nodes_.size() + 1, 0);
  for (uint32_t node : children_) ++first_child_[nodes_[node].parent + 1];
  std::partial_sum(first_child_.begin(), first_child_.end(),
                   first_child_.begin());
}

}  // namespace unspool::exporters
