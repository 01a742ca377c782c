#include "collectors/optional_calls.h"

#include <atomic>

#include "unwind/self_memory.h"

namespace unspool::collectors {
namespace {

constinit std::atomic<uint32_t> forbidden{0};

}  // namespace

bool IsAllowed(OptionalCall call) {
  return !OptionalCallSet::FromBits(forbidden.load(std::memory_order_relaxed))
              .Has(call);
}

OptionalCallSet ForbiddenCalls() {
  return OptionalCallSet::FromBits(forbidden.load());
}

void SetForbiddenCalls(OptionalCallSet calls) {
  forbidden.store(calls.bits());
  unwind::SetCopyingAllowed(!calls.Has(OptionalCall::kCopyMemory));
}

}  // namespace unspool::collectors
