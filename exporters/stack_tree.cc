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
  const auto same = static_cast<size_t>(
      std::ranges::mismatch(path, last_path_).in1 - path.begin());
  last_path_.assign(path.begin(), path.end());
  last_nodes_.resize(same);
  uint32_t node = same == 0 ? 0 : last_nodes_.back();
  for (uint32_t name : path.subspan(same)) {
    const auto [entry, is_new] = child_of_.try_emplace(
        uint64_t{node} << 32 | name, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({.name = name, .parent = node});
    node = entry->second;
    last_nodes_.push_back(node);
  }
  nodes_[node].self = AddValues(nodes_[node].self, value);
}

void StackTree::Finish(const FrameNames& names) {
  child_of_ = {};
  last_path_ = {};
  last_nodes_ = {};
  std::vector<uint32_t> by_name(names.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::ranges::sort(by_name, {},
                    [&names](uint32_t n) { return names.name(n); });
  std::vector<uint32_t> rank(names.size());
  for (uint32_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = i;

  first_child_.assign(nodes_.size() + 1, 0);
  for (size_t i = 1; i < nodes_.size(); ++i) {
    ++first_child_[nodes_[i].parent + 1];
  }
  std::partial_sum(first_child_.begin(), first_child_.end(),
                   first_child_.begin());
  children_.resize(nodes_.size() - 1);
  std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    children_[next[nodes_[i].parent]++] = i;
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::ranges::sort(children_.begin() + first_child_[i],
                      children_.begin() + first_child_[i + 1], {},
                      [&](uint32_t node) { return rank[nodes_[node].name]; });
  }
}

}  // namespace unspool::exporters
