// clone and thrd_create, in front of libc's: threads that do not come by
// pthread_create() are looked for right after. What a program makes by a system
// call of its own, ticks find.

#include <sched.h>
#include <stdarg.h>
#include <threads.h>

#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/session.h"

namespace unspool::profiler {
namespace {

constinit NextFunction<int (*)(int (*)(void*), void*, int, void*, ...)>
    next_clone("clone");
constinit NextFunction<int (*)(thrd_t*, thrd_start_t, void*)> next_thrd_create(
    "thrd_create");

[[gnu::constructor]] void FindNextFunctions() {
  next_clone.get();
  next_thrd_create.get();
}

}  // namespace
}  // namespace unspool::profiler

// The new thread begins on a stack of its own: no frame of ours is there. What
// the caller did not give of the last three, the kernel does not read.
UNSPOOL_EXPORT int clone(int (*routine)(void*), void* stack, int flags,
                         void* argument, ...) noexcept {
  va_list list;
  va_start(list, argument);
  auto* const parent_tid = va_arg(list, void*);
  auto* const tls = va_arg(list, void*);
  auto* const child_tid = va_arg(list, void*);
  va_end(list);
  const int result = unspool::profiler::next_clone.get()(
      routine, stack, flags, argument, parent_tid, tls, child_tid);
  if (result > 0 && (flags & CLONE_THREAD) != 0) {
    unspool::profiler::GetSession().engine().LookForNewThread();
  }
  return result;
}

UNSPOOL_EXPORT int thrd_create(thrd_t* thread, thrd_start_t routine,
                               void* argument) {
  const int result =
      unspool::profiler::next_thrd_create.get()(thread, routine, argument);
  if (result == thrd_success) {
    unspool::profiler::GetSession().engine().LookForNewThread();
  }
  return result;
}
