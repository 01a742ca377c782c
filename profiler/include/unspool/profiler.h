// unspool from C++: profile a scope of the program.
//
//   {
//     unspool::Profiler profiler;  // profile.pb.gz, or what UNSPOOL_* says
//     Work();
//   }  // the profile is written
//
// Header only, over the C API of unspool/unspool.h.

#ifndef UNSPOOL_PROFILER_H_
#define UNSPOOL_PROFILER_H_

#include <unspool/unspool.h>

namespace unspool {

// Samples the process while it lives; one at a time. Does not throw.
// Not async-signal-safe: neither is the C API.
class Profiler {
 public:
  // status() tells whether it began: 0, or a negative errno of unspool_start().
  // `options` as there; its size is set here.
  explicit Profiler(unspool_options options = {}) noexcept
      : status_(Start(options)), is_running_(status_ == 0) {}

  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // What Stop() does, but for its result.
  ~Profiler() { static_cast<void>(Stop()); }

  // Ends sampling and writes the profile, at most once. Gives status(): 0, or
  // the negative errno of what failed first.
  int Stop() noexcept {
    if (is_running_) {
      is_running_ = false;
      status_ = unspool_stop();
    }
    return status_;
  }

  // 0, or the negative errno of what failed first. Any thread, while nobody
  // calls Stop().
  int status() const noexcept { return status_; }

 private:
  static int Start(unspool_options options) noexcept {
    options.size = sizeof(options);
    return unspool_start(&options);
  }

  int status_;
  bool is_running_;
};

}  // namespace unspool

#endif  // UNSPOOL_PROFILER_H_
