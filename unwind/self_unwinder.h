// Unwinds threads of the process it lives in, from inside a signal handler.
//
// One per process. It joins the parts: registers of the interrupted thread, a
// memory reader that never faults, the modules (a published snapshot plus those
// that came later), and the rule cache.

#ifndef UNSPOOL_UNWIND_SELF_UNWINDER_H_
#define UNSPOOL_UNWIND_SELF_UNWINDER_H_

#include <ucontext.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "unwind/arch/arch.h"
#include "unwind/frame.h"
#include "unwind/module.h"
#include "unwind/registered_code.h"
#include "unwind/stack_memo.h"

namespace unspool::unwind {

struct LoadedModule;
using AddSources = void (*)(LoadedModule* loaded);

// A thread's own stack. While its SP is in [low, high), everything from SP to
// `high` is mapped and stays so: plain loads are safe there. {0, 0} if unknown.
struct StackBounds {
  uint64_t low = 0;
  uint64_t high = 0;
};

// Memory that a walk works in; one per thread, zeroed at first, reused.
struct WalkScratch;  // defined in unwind/walk_scratch.h

struct SelfUnwinderState;

class SelfUnwinder {
 public:
  constexpr SelfUnwinder() = default;
  SelfUnwinder(const SelfUnwinder&) = delete;
  SelfUnwinder& operator=(const SelfUnwinder&) = delete;

  enum class InitStatus : uint8_t { kOk, kNoMemory };

  // Publishes the modules that are loaded now (those that can never be unloaded
  // pinned; all that were there before main() count as such) and warms every
  // path that the handler takes. Calling it again is a no-op; not from two
  // threads at once. Which modules can never be unloaded, and what
  // `add_from_files` is for: module_setup.h.
  // Not async-signal-safe: takes the loader's lock, allocates by mmap.
  [[nodiscard]] InitStatus Init(AddSources add_from_files = nullptr);

  // Gives the modules that were loaded since the last call, and are not pinned,
  // what handlers cannot get: an index where there is no search table, and what
  // `add_from_files` adds. Finds the lists of compilers at run time
  // (jit_objects.h) in all. False: none was loaded. To be called after Init()
  // and after loading; before Init() it does nothing. One caller at a time.
  // Not async-signal-safe: takes the loader's lock, allocates by mmap.
  bool CompleteLaterModules(AddSources add_from_files);

  // kFresh looks each frame's rule up in the unwind data, whatever the cache
  // says, and counts where that is wrong (WalkCounters): for audits.
  enum class RuleUse : uint8_t { kCached, kFresh };

  // Walks the stack from `registers`; writes at most frames.size() frames, leaf
  // first. `bounds` is the stack of the calling thread, or {0, 0}. Before
  // Init() there are no frames, and the end is kNoCfi. Any number of threads at
  // once, one walk per scratch. Async-signal-safe.
  WalkResult Walk(const Registers& registers, const StackBounds& bounds,
                  WalkScratch& scratch, std::span<Frame> frames,
                  RuleUse use = RuleUse::kCached);

  // The same; the frames are in `memo`, a thread's own, whose last stack spares
  // what has not changed since.
  WalkResult Walk(const Registers& registers, const StackBounds& bounds,
                  WalkScratch& scratch, StackMemo<NativeArch>& memo);

  // The module with this id; nullptr for kNoModule and ids not given out. Stays
  // valid for the life of the process, also after dlclose. Ids are dense:
  // [0, module_count()), but for those of registered code.
  // Async-signal-safe.
  const Module* FindModule(ModuleId id) const;
  ModuleId module_count() const;

  // Code that no module holds; also before Init().
  RegisteredCode& registered_code() { return registered_; }

  // Brackets a dlclose() by the target: a hint that a later module's address
  // range may get a new owner. Async-signal-safe.
  void BeginUnload();
  void EndUnload();

 private:
  friend struct SelfUnwinderPeer;  // tests: puts wrong rules into the cache

  // Published once, with release; nullptr before. Never freed.
  std::atomic<SelfUnwinderState*> state_{nullptr};
  RegisteredCode registered_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_SELF_UNWINDER_H_
