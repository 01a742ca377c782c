#include "profiler/cli/progress.h"

#include <unistd.h>

#include <string>

#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Return to the first column and erase to the end of the line (ECMA-48 EL).
constexpr std::string_view kErase = "\r\033[K";

void Write(std::string_view text) {
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

ProgressLine::ProgressLine()
    : enabled_(isatty(STDERR_FILENO) == 1),
      next_(steady_clock::now() + milliseconds(500)) {}

ProgressLine::~ProgressLine() {
  if (shown_) Write(kErase);
}

void ProgressLine::Show(std::string_view what, uint64_t done, uint64_t total) {
  const steady_clock::time_point now = steady_clock::now();
  if (!enabled_ || now < next_) return;
  next_ = now + milliseconds(100);
  shown_ = true;
  std::string line = std::string(kErase) + "unspool: " + OneLine(what);
  if (total > 0) line += " " + std::to_string(done * 100 / total) + " %";
  Write(line);
}

}  // namespace unspool::profiler
