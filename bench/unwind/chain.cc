#include "bench/unwind/chain.h"

#include <random>
#include <thread>

// The functions of chain.S. Each calls *list with list + 1 in rdi.
using ChainFunction = void (*)(const void* const* list);
extern "C" const ChainFunction unspool_bench_chain_functions[];

namespace unspool::bench {
namespace {

struct Bottom {
  void (*call)(void* context);
  void* context;
};

thread_local Bottom bottom;
thread_local uint64_t limit;

// The last of every list: a function that C++ can call back from.
[[gnu::noinline]] void AtBottom(const void* const*) {
  bottom.call(bottom.context);
  asm volatile("");  // not a tail call: this frame stays
}

}  // namespace

Chain MakeChain(size_t depth, uint64_t seed) {
  std::mt19937_64 random(seed);
  Chain chain(depth);
  for (uint32_t& index : chain) index = random() % kChainFunctions;
  return chain;
}

void RunOnOwnThread(const std::function<void()>& body) {
  std::thread(body).join();
}

[[gnu::noinline]] void CallThroughChain(const Chain& chain,
                                        void (*at_bottom)(void* context),
                                        void* context) {
  bottom = {at_bottom, context};
  limit = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  std::vector<const void*> list;
  list.reserve(chain.size() + 1);
  for (uint32_t index : chain) {
    list.push_back(
        reinterpret_cast<const void*>(unspool_bench_chain_functions[index]));
  }
  list.push_back(reinterpret_cast<const void*>(&AtBottom));
  const auto first =
      reinterpret_cast<ChainFunction>(const_cast<void*>(list.front()));
  first(list.data() + 1);
}

uint64_t frame_limit() { return limit; }

}  // namespace unspool::bench
