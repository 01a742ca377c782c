#define UNW_LOCAL_ONLY
#include "bench/unwind/walkers.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bench/unwind/chain.h"
#include "unwind/self_unwinder.h"
#include "unwind/walk_scratch.h"

namespace unspool::bench {
namespace {

constexpr size_t kMaxFrames = 4096;

// libgcc's own; libunwind replaces the names in the global scope.
decltype(&_Unwind_Backtrace) libgcc_backtrace;
decltype(&_Unwind_GetIP) libgcc_get_ip;

constinit unwind::SelfUnwinder unwinder;
thread_local unwind::StackBounds stack_bounds;
thread_local unwind::WalkScratch scratch;
thread_local std::array<unwind::Frame, kMaxFrames> frames;

// What a profiler with -fno-omit-frame-pointer code does: two loads a frame,
// each checked against the stack's bounds.
[[gnu::noinline]] size_t WalkFramePointers(std::span<uint64_t> pcs) {
  const uint64_t limit = frame_limit();
  auto fp = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  size_t count = 0;
  while (count < pcs.size() && fp < limit && fp % 8 == 0) {
    const auto* slot = reinterpret_cast<const uint64_t*>(fp);
    pcs[count++] = slot[1];
    if (slot[0] <= fp) break;
    fp = slot[0];
  }
  return count;
}

[[gnu::noinline]] size_t WalkLibunwind(std::span<uint64_t> pcs) {
  const int count = unw_backtrace(reinterpret_cast<void**>(pcs.data()),
                                  static_cast<int>(pcs.size()));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

struct LibgccWalk {
  std::span<uint64_t> pcs;
  size_t count = 0;
};

_Unwind_Reason_Code OnLibgccFrame(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<LibgccWalk*>(argument);
  if (walk->count == walk->pcs.size()) return _URC_END_OF_STACK;
  walk->pcs[walk->count++] = libgcc_get_ip(context);
  return _URC_NO_REASON;
}

[[gnu::noinline]] size_t WalkLibgcc(std::span<uint64_t> pcs) {
  LibgccWalk walk{pcs};
  libgcc_backtrace(OnLibgccFrame, &walk);
  // Where RA is undefined libgcc gives one more frame, at 0.
  if (walk.count > 0 && pcs[walk.count - 1] == 0) --walk.count;
  return walk.count;
}

// Registers as in a handler, then the walk and a copy of the PCs, which the
// peers' interfaces include.
[[gnu::noinline]] size_t WalkUnspool(std::span<uint64_t> pcs) {
  const unwind::Registers registers = unwind::Registers::Here();
  const size_t room = pcs.size() < frames.size() ? pcs.size() : frames.size();
  const unwind::WalkResult result =
      unwinder.Walk(registers, stack_bounds, scratch,
                    std::span<unwind::Frame>(frames).first(room));
  for (size_t i = 0; i < result.depth; ++i) pcs[i] = frames[i].pc;
  return result.depth;
}

}  // namespace

void Fail(const char* what) {
  std::fprintf(stderr, "unspool_bench: %s\n", what);
  std::exit(1);
}

unwind::SelfUnwinder& self_unwinder() { return unwinder; }
const unwind::StackBounds& thread_bounds() { return stack_bounds; }

const std::array<Walker, kWalkerCount> kWalkers = {{
    {"frame_pointer", WalkFramePointers},
    {"unw_backtrace", WalkLibunwind},
    {"libgcc", WalkLibgcc},
    {"unspool", WalkUnspool},
}};

void InitWalkers() {
  void* libgcc = dlopen("libgcc_s.so.1", RTLD_NOW);
  if (libgcc == nullptr) Fail("cannot load libgcc_s.so.1");
  libgcc_backtrace = reinterpret_cast<decltype(libgcc_backtrace)>(
      dlsym(libgcc, "_Unwind_Backtrace"));
  libgcc_get_ip =
      reinterpret_cast<decltype(libgcc_get_ip)>(dlsym(libgcc, "_Unwind_GetIP"));
  Dl_info info;
  if (libgcc_backtrace == nullptr || libgcc_get_ip == nullptr ||
      dladdr(reinterpret_cast<void*>(libgcc_backtrace), &info) == 0 ||
      std::string_view(info.dli_fname).find("libgcc_s") ==
          std::string_view::npos) {
    Fail("libgcc_s.so.1 has no _Unwind_Backtrace of its own");
  }
  if (unwinder.Init() != unwind::SelfUnwinder::InitStatus::kOk) {
    Fail("our unwinder has no memory");
  }
}

void InitThread() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    Fail("cannot find the thread's stack");
  }
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  stack_bounds.low = reinterpret_cast<uint64_t>(low);
  stack_bounds.high = stack_bounds.low + size;
}

}  // namespace unspool::bench
