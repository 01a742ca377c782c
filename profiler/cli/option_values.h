// Checks of single option values. The name that is passed in, "-F" or
// "UNSPOOL_FREQUENCY", is the place that the user has to correct; all throw
// Failure(kExitUsage).

#ifndef UNSPOOL_PROFILER_CLI_OPTION_VALUES_H_
#define UNSPOOL_PROFILER_CLI_OPTION_VALUES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/cli/options.h"

namespace unspool::profiler {

// A decimal number without sign, in [low, high].
// Not async-signal-safe: allocates and throws.
uint32_t ParseNumber(std::string_view name, std::string_view text, uint32_t low,
                     uint32_t high);

// An address in hexadecimal digits, with or without 0x, as addr2line takes it.
// Not async-signal-safe: allocates and throws.
uint64_t ParseAddress(std::string_view name, std::string_view text);

// A time in seconds, decimal fraction allowed: "2", "0.5". At most 10^9.
// Not async-signal-safe: allocates and throws.
std::chrono::nanoseconds ParseSeconds(std::string_view name,
                                      std::string_view text);

// One of `allowed`.
// Not async-signal-safe: allocates and throws.
std::string ParseChoice(std::string_view name, const std::string& text,
                        const std::vector<std::string>& allowed);

// The format that `format` ("pprof", "folded", "text") names, else the one that
// `output` ends in; text on stdout if both are empty.
// Not async-signal-safe: allocates and throws.
ExportFormat ParseFormat(const std::string& format, const std::string& output);

// A profile to write: not empty, not the name of a format that only `export`
// writes. "-" is stdout.
// Not async-signal-safe: allocates and throws.
std::string ParseProfileOutput(std::string_view name, const std::string& text);

// An output of `record`: the same, but not stdout, which is the program's.
// Not async-signal-safe: allocates and throws.
std::string ParseRecordOutput(std::string_view name, const std::string& text);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_OPTION_VALUES_H_
