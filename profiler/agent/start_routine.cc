// Compiled with sibling call optimization in every build type (CMakeLists.txt):
// the last call must be a jump, or our frame would be on every stack of the
// thread. A test looks at the stacks.

#include "profiler/agent/start_routine.h"

namespace unspool::profiler {

void* StartRoutine(void* state) {
  const collectors::ThreadState::Start start =
      EnterThread(*static_cast<collectors::ThreadState*>(state));
  return start.routine(start.argument);
}

}  // namespace unspool::profiler
