// The counters of a thread, in the order in which their samples are written:
// that of NodeOrder.

#ifndef UNSPOOL_EXPORTERS_RAW_COUNTER_ORDER_H_
#define UNSPOOL_EXPORTERS_RAW_COUNTER_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_reader.h"
#include "exporters/raw/node_order.h"

namespace unspool::exporters::raw {

// Whether a counter becomes a sample: of the kind kCpu, and, by the wall clock,
// kOffCpu.
constexpr bool IsWritten(collectors::SampleKind kind, bool is_wall) {
  return kind == collectors::SampleKind::kCpu ||
         (kind == collectors::SampleKind::kOffCpu && is_wall);
}

// Holds where they lie and not the counters, which a large recording has
// gigabytes of. Not async-signal-safe: allocates.
class CounterOrder {
 public:
  explicit CounterOrder(const collectors::SpoolReader& reader)
      : reader_(reader) {}

  // Takes those of a thread of the image that `order` is of that are written.
  // Linear in their number, and in that of the digits of their keys. False: no
  // memory.
  [[nodiscard]] bool Collect(size_t image, const collectors::ThreadView& thread,
                             const NodeOrder& order, bool is_wall);

  size_t size() const { return sorted_.size(); }
  collectors::CounterView operator[](size_t i) const {
    return reader_.CounterAt(sorted_[i].offset);
  }
  // Has the processor fetch what [i] is going to be asked for.
  void Prefetch(size_t i) const { reader_.PrefetchCounter(sorted_[i].offset); }

 private:
  struct Place {
    uint64_t key;     // NodeOrder's
    uint64_t offset;  // CounterView's
  };

  static std::span<Place> Sort(std::span<Place> from, std::span<Place> to,
                               uint64_t all_keys);

  const collectors::SpoolReader& reader_;
  collectors::MappedArray<Place> places_;
  collectors::MappedArray<Place> spare_;
  std::span<const Place> sorted_;  // one of these
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_COUNTER_ORDER_H_
