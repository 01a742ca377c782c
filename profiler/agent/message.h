// The agent's own words: complete lines on the program's stderr, few of them.

#ifndef UNSPOOL_PROFILER_AGENT_MESSAGE_H_
#define UNSPOOL_PROFILER_AGENT_MESSAGE_H_

namespace unspool::profiler {

// Why something could not be done.
struct Problem {
  int error = 0;  // errno value; 0: none
  char text[960] = {};

  bool ok() const { return error == 0; }
};

// printf-style. Not async-signal-safe: formats with vsnprintf.
[[gnu::format(printf, 2, 3)]] Problem MakeProblem(int error, const char* format,
                                                  ...);

// Remembers what stderr is. Say() writes to nothing else: a program that closes
// descriptor 2 and opens a file of its own there must not find our lines in it.
// Not async-signal-safe: one caller, at load.
void RememberStderr();

// Writes "unspool: <text>\n" to stderr in one write(2). Does nothing if stderr
// is not what RememberStderr() saw. Not async-signal-safe: formats.
[[gnu::format(printf, 1, 2)]] void Say(const char* format, ...);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_MESSAGE_H_
