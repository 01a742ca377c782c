#include "exporters/stack_tree.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {

StackTree::StackTree(const Profile& profile, const FrameNames& names,
                     size_t value_index)
    : nodes_(1) {
  absl::flat_hash_map<uint64_t, uint32_t> child_of;  // parent << 32 | name
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    if (sample.values[value_index] == 0) continue;
    uint32_t node = 0;
    for (uint32_t location : std::views::reverse(sample.locations)) {
      for (uint32_t name : std::views::reverse(names.frames(location))) {
        const auto [entry, is_new] = child_of.try_emplace(
            uint64_t{node} << 32 | name, static_cast<uint32_t>(nodes_.size()));
        if (is_new) nodes_.push_back({.name = name, .parent = node});
        node = entry->second;
      }
    }
    nodes_[node].self =
        AddValues(nodes_[node].self, sample.values[value_index]);
  }
}

std::vector<std::vector<uint32_t>> StackTree::SortedChildren(
    const FrameNames& names) const {
  std::vector<std::vector<uint32_t>> children(nodes_.size());
  for (uint32_t i = 1; i < nodes_.size(); ++i) {
    children[nodes_[i].parent].push_back(i);
  }
  for (std::vector<uint32_t>& list : children) {
    std::ranges::sort(list, {}, [this, &names](uint32_t node) {
      return names.name(nodes_[node].name);
    });
  }
  return children;
}

}  // namespace unspool::exporters
