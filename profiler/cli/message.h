// What the tool says on stderr, and the exit statuses that go with it.
//
// Whatever ends a command early is thrown as a Failure and printed once, in
// main(): deeper code describes, it does not print.

#ifndef UNSPOOL_PROFILER_CLI_MESSAGE_H_
#define UNSPOOL_PROFILER_CLI_MESSAGE_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace unspool::profiler {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotExecutable = 126;  // as the shell and env(1)
inline constexpr int kExitNotFound = 127;
inline constexpr int kExitSignalBase = 128;  // + the signal's number

// One line: what failed, why, what to do.
class Failure : public std::runtime_error {
 public:
  Failure(int exit_status, const std::string& line)
      : std::runtime_error(line), exit_status_(exit_status) {}

  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

// "text" as part of one line: control characters become '?'.
// Not async-signal-safe: allocates.
std::string OneLine(std::string_view text);

// 'text', for names that the user gave.
// Not async-signal-safe: allocates.
std::string Quoted(std::string_view text);

// What errno value `error` means.
// Not async-signal-safe: allocates.
std::string ErrnoText(int error);

// Writes "unspool: <line>\n" to stderr in one write(2), so that it does not mix
// with what the profiled program writes there. Errors are ignored: there is
// nobody left to tell.
// Not async-signal-safe: allocates.
void Tell(std::string_view line);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_MESSAGE_H_
