// Finds the program that a command names, as execvp(3) would, and says whether
// it can run and be profiled.

#ifndef UNSPOOL_PROFILER_CLI_PROGRAM_H_
#define UNSPOOL_PROFILER_CLI_PROGRAM_H_

#include <optional>
#include <string>

namespace unspool::profiler {

struct ResolvedProgram {
  std::string path;  // to execute; relative only if the command was
  // Neither ELF nor "#!": /bin/sh runs it, as execvp(3) has it.
  bool is_shell_text = false;
  // Why the agent cannot be preloaded, and what to do instead; nullopt if it
  // can.
  std::optional<std::string> obstacle;
};

// Searches `search_path` (the value of PATH; nullptr: /bin:/usr/bin) unless
// `command` contains a slash. Throws Failure: kExitNotFound if there is no such
// file; kExitNotExecutable if there is one that cannot be run: a directory, no
// permission, an interpreter or loader that is missing, a malformed ELF file.
// Any thread.
// Not async-signal-safe: opens files, allocates and throws.
ResolvedProgram ResolveProgram(const std::string& command,
                               const char* search_path);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_PROGRAM_H_
