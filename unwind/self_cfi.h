// Answers a walk's questions about PCs of this process: cache, then the modules
// of the snapshot, then later ones, then what was registered.

#ifndef UNSPOOL_UNWIND_SELF_CFI_H_
#define UNSPOOL_UNWIND_SELF_CFI_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/arch/arch.h"
#include "unwind/plain_run.h"
#include "unwind/registered_code.h"
#include "unwind/rule_cache.h"
#include "unwind/self_memory.h"
#include "unwind/self_unwinder_state.h"
#include "unwind/walk.h"
#include "unwind/walk_scratch.h"

namespace unspool::unwind {

// For one walk. All members are async-signal-safe.
class SelfCfi {
 public:
  using Answer = CfiAnswer<NativeArch>;

  // Without `trusts_cache` every answer is found in the unwind data; rules in
  // the cache that say something else are counted, and replaced.
  SelfCfi(SelfUnwinderState& state, RegisteredCode& registered,
          WalkScratch& scratch, bool trusts_cache = true)
      : state_(state),
        registered_(registered),
        scratch_(scratch),
        trail_(state.rules),
        trusts_cache_(trusts_cache) {
    scratch.checked_count = 0;
  }

  Answer Find(uint64_t pc, bool exact);
  KnownRule<NativeArch> FindKnown(uint64_t lookup_pc) {
    if (!IsIn(place_, lookup_pc)) MoveTo(lookup_pc);
    if (place_.module == nullptr || !trusts_cache_) return {};
    const uint64_t word = trail_.Next(lookup_pc, RuleCache::Salt(place_.id)) &
                          ~RuleCache::kLinkBits;
    scratch_.counters.rule_hits += word != 0 ? 1 : 0;
    return {UnwindRule<NativeArch>::FromWord(word), place_.id};
  }
  UnwindRule<NativeArch> FindUsual(uint64_t lookup_pc);
  [[gnu::always_inline]] size_t StepOn(const SelfMemory& memory, Position* at,
                                       std::span<Frame> frames) {
    const uint64_t lookup_pc = LookupPc(at->pc, /*exact=*/false);
    if (!IsIn(place_, lookup_pc)) MoveTo(lookup_pc);
    if (place_.module == nullptr || !trusts_cache_) return 0;
    const size_t count = RunPlain(memory, &trail_, place_.id,
                                  {place_.start, place_.size}, at, frames);
    scratch_.counters.rule_hits += count;
    return count;
  }
  StepStatus ApplyRow(const Registers& frame, SelfMemory& memory,
                      Registers* caller);
  bool IsCode(uint64_t address);
  uint64_t FindFunction(uint64_t lookup_pc);
  void Learn(uint64_t lookup_pc, UnwindRule<NativeArch> rule);
  // Smaller ids are of modules that stay.
  ModuleId lasting_modules() const { return state_.modules.count(); }
  bool IsStill(uint64_t lookup_pc, ModuleId module) {
    return module < lasting_modules() ||
           (module != kNoModule && FindPlace(lookup_pc).id == module);
  }

 private:
  struct Place {
    const LoadedModule* module = nullptr;
    ModuleId id = kNoModule;
    uint64_t start = 0;
    uint64_t size = 0;
  };

  static bool IsIn(const Place& place, uint64_t pc) {
    return pc - place.start < place.size;
  }
  // Makes place_ that of `pc`.
  void MoveTo(uint64_t pc);
  Place FindPlace(uint64_t pc);
  bool IsLater(const Place& place) const {
    return place.id >= state_.modules.count();
  }
  Answer FindInModule(uint64_t pc, bool exact);
  static bool Contradicts(const Answer& answer, uint64_t cached_word);
  Answer FindRegistered(uint64_t pc, bool exact);
  bool IsStillThere();

  SelfUnwinderState& state_;
  RegisteredCode& registered_;
  WalkScratch& scratch_;
  RuleCache::Trail trail_;
  const bool trusts_cache_;
  Place place_;          // of the last answer
  uint32_t frames_ = 0;  // registered ones that place_ stands for
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_SELF_CFI_H_
