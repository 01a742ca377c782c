// What is asked for, by UNSPOOL_* variables or by unspool_start().

#ifndef UNSPOOL_PROFILER_AGENT_SETTINGS_H_
#define UNSPOOL_PROFILER_AGENT_SETTINGS_H_

#include <signal.h>

#include <cstdint>

#include "collectors/engine_choice.h"
#include "collectors/spool/spool_format.h"
#include "profiler/agent/message.h"
#include "profiler/include/unspool/unspool.h"

namespace unspool::profiler {

inline constexpr uint32_t kMaxFrequency = 10'000;
inline constexpr uint32_t kMaxStackDepth = 65'536;

struct Settings {
  const char* output = nullptr;  // pattern; nullptr: not given
  bool start_at_load = true;     // false: UNSPOOL_START=off
  bool is_verbose = false;
  bool follows_children = true;
  uint32_t frequency = 100;
  uint32_t max_depth = 1024;
  int signal = SIGPROF;
  collectors::Engine engine = collectors::Engine::kAuto;
  collectors::SampleClock clock = collectors::SampleClock::kCpu;
  // Set by `unspool record` for its child, and by an agent for the process that
  // its own becomes by exec; README.md describes them.
  const char* spool = nullptr;      // UNSPOOL_SPOOL
  const char* spool_tag = nullptr;  // UNSPOOL_SPOOL_TAG
  int32_t root_pid = 0;             // UNSPOOL_ROOT_PID; 0: not given
};

// As getenv(3).
using GetVariable = const char* (*)(const char* name);

// Reads all variables; an empty one counts as not set. On a bad value the
// problem names variable, value, and what would be right; *settings is then
// unspecified. Strings point to the variables' own.
// Not async-signal-safe: reads the environment.
[[nodiscard]] Problem ReadSettings(GetVariable get, Settings* settings);

// Overrides *settings by what `options` (null: nothing) asks for.
// EINVAL: a bad value or size. Not async-signal-safe: formats the problem.
[[nodiscard]] Problem ApplyOptions(const unspool_options* options,
                                   Settings* settings);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SETTINGS_H_
