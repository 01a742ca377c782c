#include "bench/unwind/walkers.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "bench/unwind/chain.h"
#include "unwind/walk_scratch.h"

namespace unspool::bench {
namespace {

constexpr size_t kMaxFrames = 4096;

constinit unwind::SelfUnwinder unwinder;
thread_local unwind::StackBounds stack_bounds;
thread_local unwind::WalkScratch scratch;
using Memo = unwind::StackMemo<unwind::NativeArch>;
thread_local std::array<unwind::Frame, Memo::StorageFor(kMaxFrames)> frames;
thread_local Memo memo(frames, kMaxFrames);

void InitNothing() {}

// What a profiler of code with frame pointers does: two loads a frame, each
// checked against the stack's bounds.
[[gnu::noinline]] size_t WalkFramePointers(const ucontext_t& context,
                                           std::span<uint64_t> pcs) {
  const uint64_t limit = frame_limit();
  const greg_t* const registers = context.uc_mcontext.gregs;
  auto fp = static_cast<uint64_t>(registers[REG_RBP]);
  size_t count = 0;
  pcs[count++] = static_cast<uint64_t>(registers[REG_RIP]);
  while (count < pcs.size() && fp < limit && fp % 8 == 0) {
    const auto* slot = reinterpret_cast<const uint64_t*>(fp);
    pcs[count++] = slot[1];
    if (slot[0] <= fp) break;
    fp = slot[0];
  }
  return count;
}

void InitUnspool() {
  if (unwinder.Init() != unwind::SelfUnwinder::InitStatus::kOk) {
    Fail("our unwinder has no memory");
  }
}

// As in a handler, and then a copy of the PCs, which the peers' interfaces
// include.
[[gnu::noinline]] size_t WalkUnspool(const ucontext_t& context,
                                     std::span<uint64_t> pcs) {
  const unwind::Registers registers = unwind::Registers::FromUcontext(context);
  unwinder.Walk(registers, stack_bounds, scratch, memo);
  const std::span<const unwind::Frame> stack = memo.frames();
  const size_t count = pcs.size() < stack.size() ? pcs.size() : stack.size();
  for (size_t i = 0; i < count; ++i) pcs[i] = stack[i].pc;
  return count;
}

}  // namespace

void Fail(const char* what) {
  std::fprintf(stderr, "unspool_bench: %s\n", what);
  std::exit(1);
}

unwind::SelfUnwinder& self_unwinder() { return unwinder; }

const Walker kUnspool = {"unspool", WalkUnspool, InitUnspool, true, false};
const Walker kFramePointer = {"frame_pointer", WalkFramePointers, InitNothing,
                              true, true};

const std::array<const Walker*, 8> kWalkers = {
    &kUnspool, &kFramePointer, &kUnwBacktrace, &kUnwStep,
    &kLibgcc,  &kGlibc,        &kAbseil,       &kLibdw};

[[gnu::noipa]] uint64_t BehindCall() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
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
