// The memory that a walk works in: too much for the stack that a signal handler
// runs on. One per thread.

#ifndef UNSPOOL_UNWIND_WALK_SCRATCH_H_
#define UNSPOOL_UNWIND_WALK_SCRATCH_H_

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "unwind/arch/arch.h"
#include "unwind/cfi_finder.h"
#include "unwind/elf_module.h"
#include "unwind/frame.h"
#include "unwind/self_memory.h"
#include "unwind/usual_cfi.h"
#include "unwind/walk.h"

namespace unspool::unwind {

// What the walks in this scratch have done, for whoever wants to add it up.
struct WalkCounters {
  uint64_t rule_hits = 0;    // frames whose rule was in the cache
  uint64_t rule_misses = 0;  // frames whose row had to be found
  uint64_t rows = 0;         // of these, rows that are no rule: never cached
  // Rules in the cache that a walk without it found to be wrong (RuleUse).
  uint64_t wrong_rules = 0;
  // Copies of a later module that were dropped, because it went away meanwhile.
  uint64_t gone_modules = 0;
};

// A later module that this walk has checked.
struct CheckedModule {
  uint64_t start = 0;
  uint64_t end = 0;
  ModuleId id = kNoModule;
};

// Zeroed memory is a valid scratch; its contents mean nothing between walks,
// except the counters. What every walk uses comes first: other pages of it are
// never touched, if nothing touched them before.
struct WalkScratch {
  static constexpr size_t kMaxCheckedModules = 16;
  static constexpr size_t kMaxHeaders = 16;

  WalkCounters counters;
  size_t checked_count = 0;
  WalkState<NativeArch> walk;
  CfiFinderState<NativeArch> cfi;
  UsualCies<NativeArch> usual_cies;
  PageCopy page;
  // A copy of a later module's bytes: unwind data, headers.
  std::array<uint8_t, kPageSize> window;
  // Later modules: being described, and those checked in this walk.
  std::array<Elf64_Phdr, kMaxHeaders> headers;
  LoadedModule described;
  LoadedModule registered;  // the source of registered unwind data
  std::array<CheckedModule, kMaxCheckedModules> checked;
};
static_assert(sizeof(WalkScratch) <= 16 * 1024);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_WALK_SCRATCH_H_
