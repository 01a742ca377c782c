// Preloaded into the program that the oracle steps through: the unwinder as it
// is in the product's agent, to be called by the oracle. See agent_protocol.h.

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tests/oracle/agent_protocol.h"
#include "unwind/self_unwinder.h"
#include "unwind/walk_scratch.h"

namespace unspool::oracle {
namespace {

constinit unwind::SelfUnwinder unwinder;
constinit Exchange exchange;
unwind::WalkScratch scratch;
using Memo = unwind::StackMemo<unwind::NativeArch>;
std::array<unwind::Frame, Memo::StorageFor(kMaxFrames)> storage;
// Of all threads' last walk; the product keeps one for each.
Memo memo(storage, kMaxFrames);
alignas(64) char stack[size_t{64} << 10];

extern "C" void oracle_walk_entry();

extern "C" [[gnu::used]] void oracle_walk() {
  exchange.reply.result = unwinder.Walk(exchange.request.registers,
                                        exchange.request.bounds, scratch, memo);
  std::ranges::copy(memo.frames(), exchange.reply.frames);
}

[[gnu::constructor]] void Announce() {
  if (unwinder.Init() != unwind::SelfUnwinder::InitStatus::kOk) std::abort();
  exchange.entry = reinterpret_cast<uint64_t>(oracle_walk_entry);
  exchange.stack_top = reinterpret_cast<uint64_t>(stack + sizeof(stack));
  asm volatile("int3" : : "a"(kAgentIsReady), "D"(&exchange) : "memory");
}

}  // namespace
}  // namespace unspool::oracle
