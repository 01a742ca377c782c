// The libc functions that libunspool.so stands in front of: pthread_create, so
// that a thread is sampled from its first instruction on, and dlclose, as a
// hint to the unwinder. Both are hints only: what bypasses them (libc's own
// calls, a program that linked first) is found in other ways.
//
// Not part of libunspool.a, where a second definition of them could not be
// linked.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "profiler/agent/session.h"
#include "profiler/agent/start_routine.h"

#define UNSPOOL_EXPORT extern "C" __attribute__((visibility("default")))

namespace unspool::profiler {
namespace {

using PthreadCreate = int (*)(pthread_t*, const pthread_attr_t*,
                              void* (*)(void*), void*);
using Dlclose = int (*)(void*);

constinit std::atomic<PthreadCreate> real_pthread_create{nullptr};
constinit std::atomic<Dlclose> real_dlclose{nullptr};

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
  collectors::TimerEngine& engine = profiler::GetSession().engine();
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
