// The addresses of one process that are to have names of JIT-compiled code, and
// the names found so far.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_ADDRESSES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_ADDRESSES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "exporters/name_table.h"
#include "exporters/symbolizer/module_names.h"

namespace unspool::exporters {

// Thread rule: one thread.
class JitAddresses {
 public:
  // Precondition: `addresses` are sorted and distinct.
  // Not async-signal-safe: allocates.
  explicit JitAddresses(std::vector<uint64_t> addresses)
      : addresses_(std::move(addresses)), next_(addresses_.size() + 1) {
    for (uint32_t i = 0; i < next_.size(); ++i) next_[i] = i;
  }

  // Whether an address in [start, start + size) has no name yet.
  bool IsWanted(uint64_t start, uint64_t size) {
    const uint32_t first = FirstFrom(start);
    return first < addresses_.size() && addresses_[first] - start < size;
  }

  // Names each address in [start, start + size) that has no name yet by
  // frame_of(address). A million ranges over the same million addresses take
  // little more time than as many over one.
  // Not async-signal-safe: allocates.
  template <typename FrameOf>
  void Name(uint64_t start, uint64_t size, FrameOf frame_of) {
    for (uint32_t i = FirstFrom(start);
         i < addresses_.size() && addresses_[i] - start < size; i = Next(i)) {
      const NamedFrame frame = frame_of(addresses_[i]);
      names_.Add(i, {&frame, 1});
      next_[i] = i + 1;
      ++named_;
    }
  }

  bool all_named() const { return named_ == addresses_.size(); }

  // Their keys are indices into what the constructor was given.
  const NameTable& names() const { return names_; }

 private:
  // The first address from `start` on that has no name.
  uint32_t FirstFrom(uint64_t start) {
    const auto first = std::ranges::lower_bound(addresses_, start);
    return Next(static_cast<uint32_t>(first - addresses_.begin()));
  }

  // The first from index `i` on that has no name; shortens the way there.
  uint32_t Next(uint32_t i) {
    uint32_t last = i;
    while (next_[last] != last) last = next_[last];
    while (next_[i] != last) i = std::exchange(next_[i], last);
    return last;
  }

  const std::vector<uint64_t> addresses_;
  // By index: itself while it has no name, else one further on (disjoint sets).
  std::vector<uint32_t> next_;
  size_t named_ = 0;
  NameTable names_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_ADDRESSES_H_
