#include "bench/unwind/walk_check.h"

#include <algorithm>
#include <vector>

namespace unspool::bench {
namespace {

constexpr size_t kRoom = 2048;
constexpr uint64_t kSeeds = 10;

using Pcs = std::vector<uint64_t>;

struct Check {
  const Walker& walker;
  Layout layout;
  Point point;
  size_t depth;
  bool is_right = false;
};

// From `first`, the return address into the innermost function of the chain, on
// to the root.
Pcs From(uint64_t first, const Walker& walker, const ucontext_t& context) {
  Pcs pcs(kRoom);
  pcs.resize(walker.walk(context, pcs));
  pcs.erase(pcs.begin(), std::find(pcs.begin(), pcs.end(), first));
  return pcs;
}

// Behind the functions below the signal come its handler and the trampoline.
size_t InterruptedIndex(size_t depth) { return depth - depth / 2 + 1; }

void CheckAtBottom(const void* const*) {
  auto& check = *static_cast<Check*>(chain_context());
  CallSlots slots;
  ucontext_t context{};
  CaptureContext(context);
  MoveTo(check.point, slots, context);
  const auto first = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  Pcs expected = From(first, kLibgcc, context);
  Pcs pcs = From(first, check.walker, context);
  size_t chain_frames = check.depth;
  if (check.layout == Layout::kSignal) {
    chain_frames += 2;
    if (check.walker.by_frame_pointer) {
      const auto index = static_cast<ptrdiff_t>(InterruptedIndex(check.depth));
      expected.erase(expected.begin() + index);
      --chain_frames;
    }
  }
  if (&check.walker != &kUnspool) {
    expected.resize(std::min(expected.size(), chain_frames));
    pcs.resize(std::min(pcs.size(), chain_frames));
  }
  check.is_right = expected.size() >= chain_frames && pcs == expected;
}

}  // namespace

bool IsRight(const Walker& walker, Layout layout, Point point,
             size_t max_depth) {
  for (size_t depth : {3, 10, 30, 100, 1000}) {
    if (depth > max_depth) break;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Check check = {walker, layout, point, depth};
      // Twice, so that what walks leave behind is used.
      for (int i = 0; i < 2; ++i) {
        CallThroughChain(MakeChain(layout, depth, seed), CheckAtBottom, &check);
        if (!check.is_right) return false;
      }
    }
  }
  return true;
}

}  // namespace unspool::bench
