// One line on a terminal that says how far long work is, and leaves no trace.

#ifndef UNSPOOL_PROFILER_CLI_PROGRESS_H_
#define UNSPOOL_PROFILER_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

namespace unspool::profiler {

// Prints only if stderr is a terminal and the work takes longer than half a
// second; at most ten times a second.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  // Erases what was shown.
  ~ProgressLine();

  // Done is 0..total; total 0 means unknown.
  // Not async-signal-safe: allocates.
  void Show(std::string_view what, uint64_t done, uint64_t total);

 private:
  const bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_PROGRESS_H_
