// The libc functions that libunspool.so stands in front of: pthread_create, so
// that a thread is sampled from its first instruction on; dlclose, as a hint to
// the unwinder; sigaction and signal, so that a program that sets a handler for
// our signal gets its own signals and not our ticks. What bypasses them (libc's
// own calls, a program that linked first) is noticed in other ways.
//
// Not part of libunspool.a, where a second definition of them could not be
// linked.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>

#include "collectors/signal_action.h"
#include "profiler/agent/session.h"
#include "profiler/agent/start_routine.h"

#define UNSPOOL_EXPORT extern "C" __attribute__((visibility("default")))

namespace unspool::profiler {
namespace {

using PthreadCreate = int (*)(pthread_t*, const pthread_attr_t*,
                              void* (*)(void*), void*);
using Dlclose = int (*)(void*);
using Signal = sighandler_t (*)(int, sighandler_t);

constinit std::atomic<PthreadCreate> real_pthread_create{nullptr};
constinit std::atomic<Dlclose> real_dlclose{nullptr};
constinit std::atomic<Signal> real_signal{nullptr};

// The next definition after ours. Found at load; earlier only for constructors
// of other libraries that run before ours.
template <typename Function>
Function Real(std::atomic<Function>& cache, const char* name) {
  Function real = cache.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
    cache.store(real, std::memory_order_relaxed);
  }
  return real;
}

[[gnu::constructor]] void FindRealFunctions() {
  Real(real_pthread_create, "pthread_create");
  Real(real_dlclose, "dlclose");
  Real(real_signal, "signal");
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT int pthread_create(pthread_t* thread,
                                  const pthread_attr_t* attributes,
                                  void* (*routine)(void*), void* argument) {
  namespace profiler = unspool::profiler;
  namespace collectors = unspool::collectors;
  const auto real =
      profiler::Real(profiler::real_pthread_create, "pthread_create");
  collectors::SamplingEngine& engine = profiler::GetSession().engine();
  collectors::ThreadState* state =
      engine.is_running()
          ? engine.PrepareThread({routine, argument},
                                 collectors::RequestedStack(attributes))
          : nullptr;
  if (state == nullptr) return real(thread, attributes, routine, argument);
  const int result = real(thread, attributes, &profiler::StartRoutine, state);
  if (result != 0) engine.AbandonThread(*state);
  return result;
}

UNSPOOL_EXPORT int dlclose(void* handle) {
  namespace profiler = unspool::profiler;
  unspool::unwind::SelfUnwinder& unwinder = profiler::GetSession().unwinder();
  unwinder.BeginUnload();
  const int result = profiler::Real(profiler::real_dlclose, "dlclose")(handle);
  unwinder.EndUnload();
  return result;
}

UNSPOOL_EXPORT int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* old_action) noexcept {
  return unspool::collectors::ProgramSigaction(signal, action, old_action);
}

// BSD semantics, as glibc's (signal(2)).
UNSPOOL_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  namespace profiler = unspool::profiler;
  if (!unspool::collectors::IsSampleSignal(signal) || handler == SIG_ERR) {
    return profiler::Real(profiler::real_signal, "signal")(signal, handler);
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
