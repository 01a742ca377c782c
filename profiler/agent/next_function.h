// The libc functions behind those that libunspool.so stands in front of.

#ifndef UNSPOOL_PROFILER_AGENT_NEXT_FUNCTION_H_
#define UNSPOOL_PROFILER_AGENT_NEXT_FUNCTION_H_

#include <dlfcn.h>

#include <atomic>

namespace unspool::profiler {

// The next definition of one function after ours. May be a constinit global.
template <typename Function>
class NextFunction {
 public:
  explicit constexpr NextFunction(const char* name) : name_(name) {}

  // Looked up at load; earlier only for constructors of other libraries that
  // run before ours. Async-signal-safe once it was looked up.
  Function get() {
    Function next = next_.load(std::memory_order_relaxed);
    if (next == nullptr) {
      next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      next_.store(next, std::memory_order_relaxed);
    }
    return next;
  }

 private:
  const char* name_;
  std::atomic<Function> next_{nullptr};
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_NEXT_FUNCTION_H_
