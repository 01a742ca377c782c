#include "bench/unwind/chain.h"

#include <alloca.h>

#include <algorithm>
#include <random>
#include <span>
#include <thread>

#include "bench/unwind/layouts.h"

namespace unspool::bench {
namespace {

thread_local void* chain_context_now = nullptr;
thread_local uint64_t limit = 0;

// chain.S makes them in this order: rbp, rsp, rbp, rsp, one of both.
constexpr size_t kPerGroup = 5;

Chain PickMixed(Layout layout) {
  Chain picked;
  for (size_t i = 0; i < kMixedFunctions; ++i) {
    const size_t kind = i % kPerGroup;
    const bool by_rsp = kind == 1 || kind == 3;
    const bool by_rbp = kind == 0 || kind == 2;
    if ((layout == Layout::kRsp && !by_rsp) ||
        (layout == Layout::kRbp && !by_rbp)) {
      continue;
    }
    picked.push_back(unspool_bench_chain_functions[i]);
  }
  return picked;
}

Chain FunctionsOf(Layout layout) {
  std::span<const ChainFunction> functions;
  switch (layout) {
    case Layout::kAlloca:
      functions = AllocaFunctions();
      break;
    case Layout::kRealigned:
      functions = RealignedFunctions();
      break;
    case Layout::kCxx:
      functions = CxxFunctions();
      break;
    default:
      return PickMixed(layout);
  }
  return {functions.begin(), functions.end()};
}

}  // namespace

Chain MakeChain(Layout layout, size_t depth, uint64_t seed) {
  static thread_local Layout known_layout = Layout::kMixed;
  static thread_local Chain functions = FunctionsOf(Layout::kMixed);
  if (layout != known_layout) functions = FunctionsOf(layout);
  known_layout = layout;
  std::mt19937_64 random(seed);
  Chain chain(depth);
  for (ChainFunction& function : chain) {
    function = functions[random() % functions.size()];
  }
  if (layout == Layout::kSignal) chain[depth / 2] = &CallFromSignal;
  return chain;
}

Chain AllFunctions(uint64_t seed) {
  Chain all = FunctionsOf(Layout::kMixed);
  std::shuffle(all.begin(), all.end(), std::mt19937_64(seed));
  return all;
}

void RunOnOwnThread(const std::function<void()>& body) {
  std::thread(body).join();
}

[[gnu::noinline]] void CallThroughChain(const Chain& chain,
                                        ChainFunction at_bottom, void* context,
                                        size_t shift) {
  void* const outer_context = chain_context_now;
  const uint64_t outer_limit = limit;
  chain_context_now = context;
  if (limit == 0) {
    limit = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  }
  std::vector<const void*> list;
  list.reserve(chain.size() + 1);
  for (const ChainFunction function : chain) {
    list.push_back(reinterpret_cast<const void*>(function));
  }
  list.push_back(reinterpret_cast<const void*>(at_bottom));
  auto* const room = static_cast<volatile char*>(alloca(16 * shift + 16));
  room[0] = 0;
  CallNext(list.data());
  chain_context_now = outer_context;
  limit = outer_limit;
}

void* chain_context() { return chain_context_now; }

uint64_t frame_limit() { return limit; }

}  // namespace unspool::bench
