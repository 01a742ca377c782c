// What a SelfUnwinder consists of; mapped by Init().

#ifndef UNSPOOL_UNWIND_SELF_UNWINDER_STATE_H_
#define UNSPOOL_UNWIND_SELF_UNWINDER_STATE_H_

#include "unwind/jit_objects.h"
#include "unwind/later_modules.h"
#include "unwind/later_setup.h"
#include "unwind/module_snapshot.h"
#include "unwind/rule_cache.h"
#include "unwind/walk_scratch.h"

namespace unspool::unwind {

// Zeroed memory is a valid state without modules.
struct SelfUnwinderState {
  ModuleSnapshot modules;
  LaterModules later_modules;
  LaterSetup later_setup;
  JitObjects jit_objects;
  RuleCache rules;
  WalkScratch setup;  // for what runs in no handler
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_SELF_UNWINDER_STATE_H_
