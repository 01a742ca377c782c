// The libc functions that libunspool.so stands in front of: pthread_create, so
// that a thread is sampled from its first instruction on; sigaction and signal,
// so that a program that sets a handler for our signal gets its own signals and
// not our ticks. What bypasses them (libc's own calls, a program that linked
// first) is noticed in other ways.
//
// Not part of libunspool.a, where a second definition of them could not be
// linked.

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "collectors/signal_action.h"
#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/session.h"
#include "profiler/agent/start_routine.h"

namespace unspool::profiler {
namespace {

constinit NextFunction<int (*)(pthread_t*, const pthread_attr_t*,
                               void* (*)(void*), void*)>
    next_pthread_create("pthread_create");
constinit NextFunction<sighandler_t (*)(int, sighandler_t)> next_signal(
    "signal");

[[gnu::constructor]] void FindNextFunctions() {
  next_pthread_create.get();
  next_signal.get();
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT int pthread_create(pthread_t* thread,
                                  const pthread_attr_t* attributes,
                                  void* (*routine)(void*), void* argument) {
  namespace profiler = unspool::profiler;
  namespace collectors = unspool::collectors;
  const auto next = profiler::next_pthread_create.get();
  profiler::GetSession().LookAtModulesLoadedByName();
  collectors::SamplingEngine& engine = profiler::GetSession().engine();
  collectors::ThreadState* state = engine.PrepareThread(
      {routine, argument}, collectors::RequestedStack(attributes));
  if (state == nullptr) return next(thread, attributes, routine, argument);
  profiler::PrepareThreadEnds();
  profiler::GetSession().wall_clock().helper().PrepareThread();
  const int result = next(thread, attributes, &profiler::StartRoutine, state);
  if (result != 0) {
    engine.AbandonThread(*state);
    profiler::GetSession().wall_clock().helper().AbandonThread();
  }
  return result;
}

UNSPOOL_EXPORT int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* old_action) noexcept {
  return unspool::collectors::ProgramSigaction(signal, action, old_action);
}

// BSD semantics, as glibc's (signal(2)).
UNSPOOL_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  namespace profiler = unspool::profiler;
  if (!unspool::collectors::MayBeOurs(signal) || handler == SIG_ERR) {
    return profiler::next_signal.get()(signal, handler);
  }
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, signal);
  struct sigaction old_action;
  return unspool::collectors::ProgramSigaction(signal, &action, &old_action) ==
                 0
             ? old_action.sa_handler
             : SIG_ERR;
}
