// Best first: the heaviest node that is known is kept, and the samples that run
// through it are sorted by their next frame, which makes its children known. A
// child is never heavier than its parent, so the kept nodes are the heaviest.

#include "exporters/flame/flame_tree.h"

#include <algorithm>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

// A sample and how much of its stack is still to be walked, root first.
struct Walker {
  uint32_t sample;
  uint32_t locations_left;
  uint32_t frames_left;  // of the location behind those
};

// A node whose children are not known yet: the samples in [begin, end).
struct Candidate {
  FlameNode node;
  uint32_t parent = kNoIndex;  // order of being kept
  uint32_t number = 0;         // order of being found
  size_t begin = 0;
  size_t end = 0;
};

struct LighterFirst {
  // Of equals the last found, so that whole stacks are kept.
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::pair(a.node.total, a.number) <
           std::pair(b.node.total, b.number);
  }
};

class Builder {
 public:
  Builder(const Profile& profile, const StackFrames& frames,
          const SampleGroups& groups, size_t value_index)
      : profile_(profile),
        frames_(frames),
        groups_(groups),
        value_index_(value_index),
        group_sums_(groups.groups.size()) {}

  FlameTree Build(const FlameLimits& limits) {
    Candidate root = Root();
    const double least =
        limits.min_share * static_cast<double>(root.node.total);
    candidates_.push(root);
    while (!candidates_.empty() && kept_.size() < limits.max_nodes &&
           static_cast<double>(candidates_.top().node.total) >= least) {
      const Candidate candidate = candidates_.top();
      candidates_.pop();
      Keep(candidate);
    }
    Fold();
    return InPreorder();
  }

 private:
  int64_t Weight(uint32_t sample) const {
    return Magnitude(profile_.sample(sample).values[value_index_]);
  }

  Candidate Root() {
    Candidate root;
    for (uint32_t i = 0; i < profile_.sample_count(); ++i) {
      const int64_t weight = Weight(i);
      if (weight == 0) continue;
      const auto locations = profile_.sample(i).locations;
      walkers_.push_back({i, static_cast<uint32_t>(locations.size()), 0});
      root.node.total = AddValues(root.node.total, weight);
    }
    root.end = walkers_.size();
    return root;
  }

  // Steps to the next frame; false at the end of the stack.
  bool Step(Walker& walker, StackFrames::At* at) const {
    const auto locations = profile_.sample(walker.sample).locations;
    if (walker.frames_left == 0) {
      if (walker.locations_left == 0) return false;
      --walker.locations_left;
      walker.frames_left = static_cast<uint32_t>(
          frames_.at(locations[walker.locations_left]).size());
    }
    --walker.frames_left;
    *at = frames_.at(locations[walker.locations_left])[walker.frames_left];
    return true;
  }

  void Keep(const Candidate& candidate) {
    const uint32_t index = static_cast<uint32_t>(kept_.size());
    kept_.push_back({candidate.node, candidate.parent});
    SortByNextFrame(candidate);
    size_t i = 0;
    for (; i < sorted_.size() && sorted_[i].key == 0; ++i) {
      AddToGroup(sorted_[i].walker.sample);
    }
    TakeGroups(&kept_[index].node);
    while (i < sorted_.size()) i = AddChild(candidate, index, i);
  }

  // Steps the candidate's walkers, and sorts them by where that takes them.
  void SortByNextFrame(const Candidate& candidate) {
    sorted_.clear();
    for (size_t i = candidate.begin; i < candidate.end; ++i) {
      Walker walker = walkers_[i];
      StackFrames::At at = {};
      const bool goes_on = Step(walker, &at);
      sorted_.push_back(
          {goes_on ? (uint64_t{at.frame} + 1) << 32 | at.place : 0, walker});
    }
    const auto key = [](const Sorted& s) { return s.key; };
    if (!std::ranges::is_sorted(sorted_, {}, key)) {
      std::ranges::sort(sorted_, {}, key);
    }
    for (size_t i = 0; i < sorted_.size(); ++i) {
      walkers_[candidate.begin + i] = sorted_[i].walker;
    }
  }

  // The child that begins at sorted_[i]; returns where the next one does.
  size_t AddChild(const Candidate& candidate, uint32_t parent, size_t i) {
    Candidate child;
    child.parent = parent;
    child.number = next_number_++;
    child.begin = candidate.begin + i;
    const uint64_t frame = sorted_[i].key >> 32;
    child.node.frame = static_cast<uint32_t>(frame - 1);
    child.node.depth = candidate.node.depth + 1;
    int64_t heaviest = -1;
    int64_t inlined = 0;
    while (i < sorted_.size() && sorted_[i].key >> 32 == frame) {
      const uint64_t key = sorted_[i].key;
      int64_t weight = 0;
      for (; i < sorted_.size() && sorted_[i].key == key; ++i) {
        weight = AddValues(weight, Weight(sorted_[i].walker.sample));
      }
      const uint32_t place = static_cast<uint32_t>(key);
      if (weight > heaviest) {
        heaviest = weight;
        child.node.place = place;
      }
      if (frames_.places()[place].inlined) inlined = AddValues(inlined, weight);
      child.node.total = AddValues(child.node.total, weight);
    }
    child.node.inlined = inlined > child.node.total / 2;
    child.end = candidate.begin + i;
    candidates_.push(child);
    return i;
  }

  void AddToGroup(uint32_t sample) {
    const uint32_t group = groups_.of_sample[sample];
    if (group_sums_[group] == 0) used_groups_.push_back(group);
    group_sums_[group] = AddValues(group_sums_[group], Weight(sample));
  }

  // Makes the sums of AddToGroup the node's values.
  void TakeGroups(FlameNode* node) {
    std::ranges::sort(used_groups_);
    node->first_value = values_.size();
    node->value_count = used_groups_.size();
    for (uint32_t group : used_groups_) {
      values_.push_back({group, group_sums_[group]});
      group_sums_[group] = 0;
    }
    used_groups_.clear();
  }

  // What is left becomes one node per parent.
  void Fold() {
    std::vector<Candidate> left;
    for (; !candidates_.empty(); candidates_.pop()) {
      left.push_back(candidates_.top());
    }
    std::ranges::stable_sort(left, {}, &Candidate::parent);
    for (size_t i = 0; i < left.size();) {
      const uint32_t parent = left[i].parent;
      FlameNode node = {.frame = StackFrames::kFolded};
      if (parent != kNoIndex) node.depth = kept_[parent].node.depth + 1;
      for (; i < left.size() && left[i].parent == parent; ++i) {
        ++node.place;
        node.total = AddValues(node.total, left[i].node.total);
        for (size_t k = left[i].begin; k < left[i].end; ++k) {
          AddToGroup(walkers_[k].sample);
        }
      }
      TakeGroups(&node);
      kept_.push_back({node, parent});
    }
  }

  FlameTree InPreorder() {
    std::vector<uint32_t> order(kept_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    // By parent; lightest first, as a stack hands the last one out first.
    std::ranges::stable_sort(order, {}, [this](uint32_t i) {
      const Kept& kept = kept_[i];
      const bool is_folded = i != 0 && kept.node.frame == StackFrames::kFolded;
      return std::tuple(kept.parent, !is_folded, kept.node.total);
    });
    std::vector<uint32_t> first(kept_.size() + 1, 0);
    for (const Kept& kept : kept_) {
      if (kept.parent != kNoIndex) ++first[kept.parent + 1];
    }
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];

    FlameTree tree;
    std::vector<uint32_t> stack;
    if (!kept_.empty()) stack.push_back(0);
    while (!stack.empty()) {
      const uint32_t index = stack.back();
      stack.pop_back();
      tree.nodes.push_back(kept_[index].node);
      // kNoIndex, the root's parent, comes last in `order`.
      for (uint32_t k = first[index]; k < first[index + 1]; ++k) {
        stack.push_back(order[k]);
      }
    }
    tree.values = std::move(values_);
    return tree;
  }

  struct Kept {
    FlameNode node;
    uint32_t parent;
  };
  struct Sorted {
    uint64_t key;  // 0: the stack ends here; else 1 + frame, place
    Walker walker;
  };

  const Profile& profile_;
  const StackFrames& frames_;
  const SampleGroups& groups_;
  const size_t value_index_;
  std::vector<Walker> walkers_;
  std::priority_queue<Candidate, std::vector<Candidate>, LighterFirst>
      candidates_;
  uint32_t next_number_ = 0;
  std::vector<Kept> kept_;
  std::vector<FlameValue> values_;
  std::vector<Sorted> sorted_;         // of Keep
  std::vector<int64_t> group_sums_;    // 0 but between AddToGroup, TakeGroups
  std::vector<uint32_t> used_groups_;  // those that are not 0
};

}  // namespace

FlameTree BuildFlameTree(const Profile& profile, const StackFrames& frames,
                         const SampleGroups& groups, size_t value_index,
                         const FlameLimits& limits) {
  return Builder(profile, frames, groups, value_index).Build(limits);
}

}  // namespace unspool::exporters
