// The part of SelfUnwinder that runs in handlers. Init() is in
// self_unwinder_setup.cc.

#include "unwind/self_unwinder.h"

#include "unwind/self_cfi.h"
#include "unwind/self_memory.h"
#include "unwind/self_unwinder_state.h"
#include "unwind/walk.h"
#include "unwind/walk_scratch.h"

namespace unspool::unwind {

namespace {

template <class Frames>
[[gnu::hot]] WalkResult WalkSelf(SelfUnwinderState* state,
                                 RegisteredCode& registered,
                                 const Registers& registers,
                                 const StackBounds& bounds,
                                 WalkScratch& scratch, Frames& frames,
                                 bool trusts_cache) {
  if (state == nullptr) return {0, WalkEnd::kNoCfi, registers.pc()};
  // Only what is above an SP that the thread really has is known to be mapped.
  const uint64_t sp = registers.sp();
  const bool on_stack = bounds.low <= sp && sp < bounds.high;
  SelfMemory memory(on_stack ? sp : 0, on_stack ? bounds.high : 0, scratch.page,
                    &state->modules);
  SelfCfi cfi(*state, registered, scratch, trusts_cache);
  Walker<NativeArch, SelfMemory, SelfCfi> walker(memory, cfi, scratch.walk);
  return walker.Walk(registers, frames);
}

}  // namespace

WalkResult SelfUnwinder::Walk(const Registers& registers,
                              const StackBounds& bounds, WalkScratch& scratch,
                              std::span<Frame> frames, RuleUse use) {
  return WalkSelf(state_.load(std::memory_order_acquire), registered_,
                  registers, bounds, scratch, frames, use == RuleUse::kCached);
}

[[gnu::hot]] WalkResult SelfUnwinder::Walk(const Registers& registers,
                                           const StackBounds& bounds,
                                           WalkScratch& scratch,
                                           StackMemo<NativeArch>& memo) {
  return WalkSelf(state_.load(std::memory_order_acquire), registered_,
                  registers, bounds, scratch, memo, /*trusts_cache=*/true);
}

const Module* SelfUnwinder::FindModule(ModuleId id) const {
  const SelfUnwinderState* state = state_.load(std::memory_order_acquire);
  if (state == nullptr) return nullptr;
  if (id >= RegisteredCode::kFirstId) return registered_.GetCode(id);
  const LoadedModule* loaded = state->modules.Get(id);
  if (loaded == nullptr) loaded = state->later_modules.Get(id);
  return loaded == nullptr ? nullptr : &loaded->module;
}

ModuleId SelfUnwinder::module_count() const {
  const SelfUnwinderState* state = state_.load(std::memory_order_acquire);
  if (state == nullptr) return 0;
  return state->modules.count() + state->later_modules.count();
}

void SelfUnwinder::BeginUnload() {
  SelfUnwinderState* state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->later_modules.BeginUnload();
}

void SelfUnwinder::EndUnload() {
  SelfUnwinderState* state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->later_modules.EndUnload();
}

}  // namespace unspool::unwind
