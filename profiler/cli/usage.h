// What is said of a command line that cannot be understood.

#ifndef UNSPOOL_PROFILER_CLI_USAGE_H_
#define UNSPOOL_PROFILER_CLI_USAGE_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "profiler/cli/message.h"

namespace unspool::profiler {

// "help record" as "record --help", and "help" as "--help", as with other
// tools. Not async-signal-safe: allocates.
std::vector<std::string> WithoutHelpCommand(std::vector<std::string> arguments);

// Throws Failure(kExitUsage) unless the first argument is a command, or asks
// for help: CLI11 would call an unknown command a surplus argument.
// Not async-signal-safe: allocates and throws.
void CheckCommandName(const std::vector<std::string>& arguments);

// The line for what CLI11 found wrong with `arguments`.
// Not async-signal-safe: allocates.
Failure UsageFailure(const CLI::App& app, const CLI::ParseError& error,
                     const std::vector<std::string>& arguments);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_USAGE_H_
