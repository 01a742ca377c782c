#include "exporters/function_table.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

class Builder {
 public:
  Builder(const Profile& profile, const FrameNames& names,
          const SampleFilter& filter)
      : profile_(profile),
        names_(names),
        filter_(filter),
        rows_(names.size()),
        last_sample_(names.size(), kNoIndex),
        can_be_inlined_(names.size(), false) {
    for (uint32_t name = 0; name < rows_.size(); ++name) {
      rows_[name].name = name;
    }
    for (uint32_t i = 0; i < profile.locations.size(); ++i) {
      const auto frames = names.frames(i);
      for (uint32_t name : frames.first(frames.size() - 1)) {
        can_be_inlined_[name] = true;
      }
    }
  }

  FunctionTable Build(size_t value_index) {
    FunctionTable table;
    table.total = TotalValue(profile_, value_index);
    for (uint32_t i = 0; i < profile_.sample_count(); ++i) {
      const Sample sample = profile_.sample(i);
      const int64_t value = sample.values[value_index];
      if (value == 0 || !filter_.Keeps(sample)) continue;
      AddStack(sample.locations, value, i);
    }
    for (const auto& [edge, state] : edges_) {
      FunctionRow& callee = rows_[static_cast<uint32_t>(edge)];
      (state.inlined ? callee.inlined : callee.called) = true;
    }
    std::erase_if(rows_, [](const FunctionRow& row) {
      return row.flat == 0 && row.cum == 0;
    });
    std::ranges::sort(rows_,
                      [this](const FunctionRow& a, const FunctionRow& b) {
                        return Precedes(a, b);
                      });
    table.rows = std::move(rows_);
    return table;
  }

 private:
  struct EdgeState {
    uint32_t last_sample = kNoIndex;
    bool inlined = true;
  };

  // Root to leaf: a name counts once per stack in cum, a caller-callee pair by
  // its outermost occurrence.
  void AddStack(std::span<const uint32_t> locations, int64_t value,
                uint32_t sample) {
    uint32_t caller = kNoIndex;
    for (auto location = locations.rbegin(); location != locations.rend();
         ++location) {
      const std::span<const uint32_t> frames = names_.frames(*location);
      for (size_t i = frames.size(); i-- > 0;) {
        const uint32_t name = frames[i];
        if (last_sample_[name] != sample) {
          last_sample_[name] = sample;
          rows_[name].cum = AddValues(rows_[name].cum, value);
        }
        if (can_be_inlined_[name] && caller != kNoIndex && caller != name) {
          AddEdge(caller, name, i + 1 != frames.size(), sample);
        }
        caller = name;
      }
    }
    if (caller == kNoIndex) return;
    rows_[caller].flat = AddValues(rows_[caller].flat, value);
  }

  void AddEdge(uint32_t caller, uint32_t callee, bool inlined,
               uint32_t sample) {
    EdgeState& edge = edges_[uint64_t{caller} << 32 | callee];
    if (edge.last_sample == sample) return;
    edge.last_sample = sample;
    edge.inlined = edge.inlined && inlined;
  }

  bool Precedes(const FunctionRow& a, const FunctionRow& b) const {
    const int64_t flat_a = Magnitude(a.flat);
    const int64_t flat_b = Magnitude(b.flat);
    if (flat_a != flat_b) return flat_a > flat_b;
    return names_.name(a.name) < names_.name(b.name);
  }

  const Profile& profile_;
  const FrameNames& names_;
  const SampleFilter& filter_;
  std::vector<FunctionRow> rows_;      // by name until sorted
  std::vector<uint32_t> last_sample_;  // by name: seen in this stack
  std::vector<bool> can_be_inlined_;
  // caller << 32 | callee; only for callees that are inlined somewhere.
  absl::flat_hash_map<uint64_t, EdgeState> edges_;
};

}  // namespace

int64_t TotalValue(const Profile& profile, size_t value_index) {
  const DiffBase base(profile);
  int64_t total = 0;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    if (base.is_diff() && !base.Has(sample)) continue;
    total = AddValues(total, Magnitude(sample.values[value_index]));
  }
  return total;
}

FunctionTable BuildFunctionTable(const Profile& profile,
                                 const FrameNames& names, size_t value_index,
                                 const SampleFilter& filter) {
  return Builder(profile, names, filter).Build(value_index);
}

int64_t SmallestValue(const FunctionTable& table) {
  int64_t smallest = 0;
  for (const FunctionRow& row : table.rows) {
    const int64_t value = Magnitude(row.flat != 0 ? row.flat : row.cum);
    if (value != 0 && (smallest == 0 || value < smallest)) smallest = value;
  }
  return smallest;
}

}  // namespace unspool::exporters
