// Addresses to values, where intervals may nest: of all that hold an address,
// the innermost wins.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_INTERVAL_MAP_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_INTERVAL_MAP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace unspool::exporters {

// Filled by Add, then sealed once, then asked. Innermost is the interval that
// starts last; of those, the one that ends first; of those, the one added last.
// Thread rule: after Seal any number of threads may call Find.
template <typename Value>
class IntervalMap {
 public:
  // [start, end); empty and reversed intervals hold no address.
  // Not async-signal-safe: allocates.
  void Add(uint64_t start, uint64_t end, Value value) {
    if (start < end) intervals_.push_back({start, end, std::move(value)});
  }

  // Cuts the intervals into disjoint ones, each with its innermost value.
  // Takes O(n log n). Not async-signal-safe: allocates.
  void Seal() {
    std::stable_sort(intervals_.begin(), intervals_.end(),
                     [](const Interval& a, const Interval& b) {
                       if (a.start != b.start) return a.start < b.start;
                       return a.end > b.end;
                     });
    std::vector<Interval> flat;
    std::vector<size_t> open;  // indices, outermost first
    uint64_t position = 0;     // everything below is in `flat`
    auto emit_until = [&](uint64_t limit) {
      while (!open.empty() && position < limit) {
        const Interval& top = intervals_[open.back()];
        const uint64_t end = std::min(top.end, limit);
        if (position < end) flat.push_back({position, end, top.value});
        position = std::max(position, end);
        if (top.end <= limit) open.pop_back();
      }
    };
    for (size_t i = 0; i < intervals_.size(); ++i) {
      emit_until(intervals_[i].start);
      position = intervals_[i].start;
      open.push_back(i);
    }
    emit_until(UINT64_MAX);
    flat.shrink_to_fit();
    intervals_ = std::move(flat);
  }

  // The value at `address`, or null. Precondition: sealed.
  const Value* Find(uint64_t address) const {
    auto next = std::upper_bound(
        intervals_.begin(), intervals_.end(), address,
        [](uint64_t wanted, const Interval& i) { return wanted < i.start; });
    if (next == intervals_.begin()) return nullptr;
    const Interval& found = *std::prev(next);
    return address < found.end ? &found.value : nullptr;
  }

  bool empty() const { return intervals_.empty(); }

 private:
  struct Interval {
    uint64_t start;
    uint64_t end;
    Value value;
  };

  std::vector<Interval> intervals_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_INTERVAL_MAP_H_
