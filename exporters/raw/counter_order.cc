#include "exporters/raw/counter_order.h"

#include <array>
#include <bit>
#include <utility>

namespace unspool::exporters::raw {

using collectors::CounterView;
using collectors::ThreadView;

namespace {

constexpr size_t kAhead = 16;  // keys between a fetch and its use
constexpr unsigned kDigitBits = 10;
constexpr size_t kDigits = 1 << kDigitBits;

constexpr size_t Digit(uint64_t key, unsigned shift) {
  return key >> shift & (kDigits - 1);
}

}  // namespace

bool CounterOrder::Collect(size_t image, const ThreadView& thread,
                           const NodeOrder& order, bool is_wall) {
  bool ok = true;
  places_.Truncate(0);
  reader_.ForEachCounter(image, thread, [&](const CounterView& counter) {
    if (!IsWritten(counter.kind, is_wall)) return;
    ok = ok && places_.Append({counter.stack, counter.offset});
  });
  if (!ok || !spare_.Resize(places_.size())) return false;
  uint64_t all_keys = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    if (i + kAhead < places_.size()) order.Prefetch(places_[i + kAhead].key);
    places_[i].key = order.KeyOf(places_[i].key);
    all_keys |= places_[i].key;
  }
  sorted_ = Sort({places_.begin(), places_.end()},
                 {spare_.begin(), spare_.end()}, all_keys);
  return true;
}

// By digits, the last one first: each pass keeps the order of the one before.
// Gives the one of `from` and `to` that it ends in.
std::span<CounterOrder::Place> CounterOrder::Sort(std::span<Place> from,
                                                  std::span<Place> to,
                                                  uint64_t all_keys) {
  const unsigned bits = std::bit_width(all_keys);
  for (unsigned shift = 0; shift < bits; shift += kDigitBits) {
    std::array<size_t, kDigits> begins{};
    for (const Place& place : from) ++begins[Digit(place.key, shift)];
    size_t begin = 0;
    for (size_t& count : begins) begin += std::exchange(count, begin);
    for (const Place& place : from) {
      to[begins[Digit(place.key, shift)]++] = place;
    }
    std::swap(from, to);
  }
  return from;
}

}  // namespace unspool::exporters::raw
