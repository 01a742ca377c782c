#include <dlfcn.h>
#include <sys/mman.h>

#include "unwind/mapped_memory.h"
#include "unwind/module_setup.h"
#include "unwind/self_unwinder.h"
#include "unwind/self_unwinder_state.h"

namespace unspool::unwind {
namespace {

// _dl_find_object(3), which glibc before 2.35 lacks: then PCs outside the
// snapshot belong to no module. By name, so that the agent loads there too.
FindObjectFunction ResolveFindObject() {
  return reinterpret_cast<FindObjectFunction>(
      dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

// Else handlers would take two faults for each page of it. Where that fails
// (Linux before 5.14), they do.
void WarmUp(RuleCache& rules) {
  const auto start = reinterpret_cast<uint64_t>(&rules);
  const uint64_t page = start & ~(kPageSize - 1);
  madvise(reinterpret_cast<void*>(page), start + sizeof(rules) - page,
          MADV_POPULATE_WRITE);
}

}  // namespace

SelfUnwinder::InitStatus SelfUnwinder::Init(AddSources add_from_files) {
  if (state_.load(std::memory_order_acquire) != nullptr) {
    return InitStatus::kOk;
  }
  auto* state =
      static_cast<SelfUnwinderState*>(MapZeroed(sizeof(SelfUnwinderState)));
  if (state == nullptr ||
      !TakeModuleSnapshot(add_from_files, &state->modules)) {
    return InitStatus::kNoMemory;
  }
  WarmUp(state->rules);
  state->later_modules.Configure(ResolveFindObject(), state->modules.count());
  state_.store(state, std::memory_order_release);

  // Without bounds, so that it reads by system call as well as by rule; a PC
  // that no module has takes the other way through the loader.
  std::array<Frame, 16> frames;
  const Registers here = Registers::Here();
  Walk(here, StackBounds(), state->setup, frames);
  Registers nowhere = here;
  nowhere.Set(NativeArch::kRa, 0);
  Walk(nowhere, StackBounds(), state->setup, frames);
  return InitStatus::kOk;
}

bool SelfUnwinder::CompleteLaterModules(AddSources add_from_files) {
  SelfUnwinderState* state = state_.load(std::memory_order_acquire);
  return state != nullptr &&
         state->later_setup.CompleteNewModules(
             add_from_files, {state->modules, state->later_modules,
                              state->jit_objects, registered_, state->setup});
}

}  // namespace unspool::unwind
