#include "collectors/stack_bounds.h"

#include <sys/resource.h>

#include <algorithm>

// The loader's: SP at the process's entry point, below the arguments.
extern "C" void* __libc_stack_end;

namespace unspool::collectors {
namespace {

constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kMaxMainStack = uint64_t{1} << 30;

}  // namespace

unwind::StackBounds MainThreadStack() {
  const auto end = reinterpret_cast<uint64_t>(__libc_stack_end);
  const uint64_t high = (end + kPageSize - 1) & ~(kPageSize - 1);
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  return {high - std::min<uint64_t>(limit.rlim_cur, kMaxMainStack), high};
}

StackRequest RequestedStack(const pthread_attr_t* attributes) {
  StackRequest request;
  if (attributes == nullptr) {
    pthread_attr_t defaults;
    if (pthread_attr_init(&defaults) != 0) return {};
    pthread_attr_getstacksize(&defaults, &request.size);
    pthread_attr_destroy(&defaults);
    return request;
  }
  // Without a stack of its own the address is 0 minus the size (which is 0 if
  // that was not set either).
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(attributes, &low, &size) == 0 &&
      reinterpret_cast<uint64_t>(low) + size != 0) {
    return {reinterpret_cast<uint64_t>(low), size};
  }
  pthread_attr_getstacksize(attributes, &request.size);
  return request;
}

unwind::StackBounds NewThreadStack(const StackRequest& request) {
  const auto high = static_cast<uint64_t>(pthread_self());
  if (request.low != 0) return {request.low, high};
  // glibc maps size + guard; the control block (under 2.5 KiB) is at the top,
  // and the size may have been rounded down to TLS's alignment (allocate_stack
  // in nptl/allocatestack.c). A page of margin keeps clear of the guard.
  constexpr uint64_t kMargin = kPageSize;
  if (request.size <= kMargin || request.size > high) return {};
  return {high - request.size + kMargin, high};
}

}  // namespace unspool::collectors
