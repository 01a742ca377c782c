// The C API, and what happens at load.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "collectors/cpu_timer.h"
#include "collectors/period.h"
#include "profiler/agent/export.h"
#include "profiler/agent/message.h"
#include "profiler/agent/session.h"
#include "profiler/agent/settings.h"
#include "profiler/include/unspool/unspool.h"

namespace unspool::profiler {
namespace {

// Not for programs with more rights than their user: the variables would have
// them write files.
const char* ReadVariable(const char* name) { return secure_getenv(name); }

// From unspool_start() to unspool_stop(). What else samples the program is not
// theirs to end.
constinit std::atomic<bool> has_started{false};

bool IsFirstProcess(const Settings& settings) {
  return settings.root_pid == 0 || settings.root_pid == getpid();
}

// For the processes that this one becomes by exec, or starts.
void TellSuccessors(const Settings& settings) {
  if (settings.root_pid == 0) {
    char text[16];
    snprintf(text, sizeof(text), "%d", getpid());
    setenv("UNSPOOL_ROOT_PID", text, 1);
  }
  if (settings.spool == nullptr && settings.spool_tag == nullptr) {
    setenv("UNSPOOL_SPOOL_TAG", GetSession().spool_tag(), 1);
  }
}

// An engine that could not be had, and a rate that timers do not reach. The
// latter the summary of `unspool record` says too.
void SayEngine(const Settings& settings) {
  const collectors::EngineChoice choice = GetSession().engine_choice();
  const uint64_t tick_ns = collectors::KernelTickNs();
  const bool is_slow = choice.engine == collectors::Engine::kTimer &&
                       collectors::PeriodNs(settings.frequency) < tick_ns;
  const auto reached =
      static_cast<unsigned>(collectors::kNsPerSecond / tick_ns);
  if (choice.missed != collectors::Engine::kAuto) {
    Say("cannot sample by %s: %s; sampling by %s%s",
        collectors::EngineName(choice.missed),
        collectors::DescribeObstacle(choice.obstacle),
        collectors::EngineName(choice.engine),
        is_slow ? ", at the kernel's tick; totals stay exact by weight" : "");
  } else if (is_slow && settings.spool == nullptr) {
    Say("asked for %u samples per second and thread, the kernel gives %u (its "
        "tick); totals stay exact by weight",
        settings.frequency, reached);
  }
}

bool StartsAtLoad(const Settings& settings) {
  return settings.output != nullptr && settings.start_at_load &&
         (settings.follows_children || IsFirstProcess(settings));
}

// What other processes than the first one have to say has mostly been said.
bool MaySpeak(const Settings& settings) {
  return settings.is_verbose || IsFirstProcess(settings);
}

[[gnu::constructor]] void AtLoad() {
  RememberStderr();
  if (ReadVariable("UNSPOOL_OUTPUT") == nullptr) return;
  const int saved_errno = errno;
  Settings settings;
  Problem problem = ReadSettings(&ReadVariable, &settings);
  const bool starts = problem.ok() && StartsAtLoad(settings);
  if (starts) problem = GetSession().Start(settings);
  // That other one, preloaded, does what this one was to do.
  if (problem.error == EALREADY) {
    if (settings.is_verbose) Say("%s; this one is off", problem.text);
  } else if (!problem.ok()) {
    if (MaySpeak(settings)) Say("%s; profiling is off", problem.text);
  } else if (starts) {
    TellSuccessors(settings);
    if (MaySpeak(settings)) SayEngine(settings);
    if (settings.is_verbose) {
      Say("sampling at %u Hz, recording in %s", settings.frequency,
          settings.spool != nullptr ? settings.spool
                                    : GetSession().spool_path());
    }
  }
  errno = saved_errno;
}

}  // namespace
}  // namespace unspool::profiler

using unspool::profiler::GetSession;
using unspool::profiler::Problem;
using unspool::profiler::Settings;

UNSPOOL_EXPORT int unspool_start(const unspool_options* options) {
  Settings settings;
  Problem problem = unspool::profiler::ReadSettings(
      &unspool::profiler::ReadVariable, &settings);
  if (problem.ok()) {
    problem = unspool::profiler::ApplyOptions(options, &settings);
  }
  // A region is the process's own, unless children were asked for.
  if (settings.spool == nullptr &&
      unspool::profiler::ReadVariable("UNSPOOL_CHILDREN") == nullptr) {
    settings.follows_children = false;
  }
  if (problem.ok()) problem = GetSession().Start(settings);
  if (problem.ok()) unspool::profiler::has_started.store(true);
  return -problem.error;
}

UNSPOOL_EXPORT int unspool_stop(void) {
  if (!unspool::profiler::has_started.exchange(false)) return -ESRCH;
  return -GetSession().Stop().error;
}

UNSPOOL_EXPORT int unspool_flush(void) { return -GetSession().Flush().error; }

UNSPOOL_EXPORT int unspool_get_state(unspool_state* state) {
  unspool_state full{};
  if (state == nullptr || state->size < sizeof(full.size) ||
      state->size > sizeof(full)) {
    return -EINVAL;
  }
  full.size = state->size;
  GetSession().GetState(&full);
  memcpy(state, &full, state->size);
  return 0;
}
