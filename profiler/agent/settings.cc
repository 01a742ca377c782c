#include "profiler/agent/settings.h"

#include <errno.h>
#include <string.h>

#include "collectors/signal_action.h"

namespace unspool::profiler {
namespace {

using collectors::SampleClock;

bool Equals(const char* a, const char* b) { return strcmp(a, b) == 0; }

// A decimal number without sign, in [low, high].
bool ParseNumber(const char* text, uint32_t low, uint32_t high,
                 uint32_t* value) {
  uint64_t number = 0;
  const char* digit = text;
  for (; *digit >= '0' && *digit <= '9'; ++digit) {
    number = number * 10 + static_cast<uint64_t>(*digit - '0');
    if (number > high) return false;
  }
  if (digit == text || *digit != '\0' || number < low) return false;
  *value = static_cast<uint32_t>(number);
  return true;
}

// "27", "PROF" or "SIGPROF", for signals that may carry ticks.
bool ParseSignal(const char* text, int* value) {
  if (strncmp(text, "SIG", 3) == 0) text += 3;
  uint32_t number = 0;
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* name = sigabbrev_np(signal);
    if (name != nullptr && Equals(name, text)) {
      number = static_cast<uint32_t>(signal);
    }
  }
  if (number == 0 && !ParseNumber(text, 1, NSIG, &number)) return false;
  *value = static_cast<int>(number);
  return collectors::IsSampleSignal(*value);
}

// What `unspool export` takes for another format.
bool IsProfileName(const char* name) {
  const size_t size = strlen(name);
  for (const char* ending : {".html", ".svg", ".folded", ".txt"}) {
    const size_t room = strlen(ending);
    if (size >= room && Equals(name + size - room, ending)) return false;
  }
  return true;
}

constexpr char kOutputText[] =
    "a name such as profile.pb.gz: it becomes a pprof profile, of which "
    "'unspool export' makes other formats";

Problem Rejected(const char* name, const char* value, const char* expected) {
  return MakeProblem(EINVAL, "%s=%s is not %s", name, value, expected);
}

// One variable: its parser and what a right value is. Parsers get the value of
// a variable that is set and not empty.
struct Variable {
  const char* name;
  const char* expected;
  bool (*parse)(const char* value, Settings* settings);
};

constexpr Variable kVariables[] = {
    {"UNSPOOL_OUTPUT", kOutputText,
     [](const char* value, Settings* s) {
       s->output = value;
       return IsProfileName(value);
     }},
    {"UNSPOOL_START", "on or off",
     [](const char* value, Settings* s) {
       s->start_at_load = !Equals(value, "off");
       return Equals(value, "on") || Equals(value, "off");
     }},
    {"UNSPOOL_VERBOSE", "0 or 1",
     [](const char* value, Settings* s) {
       s->is_verbose = Equals(value, "1");
       return Equals(value, "0") || Equals(value, "1");
     }},
    {"UNSPOOL_FREQUENCY", "a whole number from 1 to 10000",
     [](const char* value, Settings* s) {
       return ParseNumber(value, 1, kMaxFrequency, &s->frequency);
     }},
    {"UNSPOOL_MAX_DEPTH", "a whole number from 1 to 65536",
     [](const char* value, Settings* s) {
       return ParseNumber(value, 1, kMaxStackDepth, &s->max_depth);
     }},
    {"UNSPOOL_SAMPLE_SIGNAL",
     "a standard signal that can be caught and that no instruction raises",
     [](const char* value, Settings* s) {
       return ParseSignal(value, &s->signal);
     }},
    {"UNSPOOL_ENGINE", "auto, timer, perf or trap",
     [](const char* value, Settings* s) {
       return collectors::ParseEngine(value, &s->engine);
     }},
    {"UNSPOOL_CLOCK", "cpu or wall",
     [](const char* value, Settings* s) {
       const bool is_wall = Equals(value, "wall");
       s->clock = is_wall ? SampleClock::kWall : SampleClock::kCpu;
       return is_wall || Equals(value, "cpu");
     }},
    {"UNSPOOL_CHILDREN", "on or off",
     [](const char* value, Settings* s) {
       s->follows_children = Equals(value, "on");
       return s->follows_children || Equals(value, "off");
     }},
    {"UNSPOOL_TIMELINE", "known to this version",
     [](const char*, Settings*) { return false; }},
    {"UNSPOOL_TOGGLE_SIGNAL", "known to this version",
     [](const char*, Settings*) { return false; }},
    {"UNSPOOL_SPOOL", "a file name",
     [](const char* value, Settings* s) {
       s->spool = value;
       return true;
     }},
    {"UNSPOOL_SPOOL_TAG", "a word of up to 8 hexadecimal digits",
     [](const char* value, Settings* s) {
       s->spool_tag = value;
       const size_t size = strlen(value);
       return size <= 8 && strspn(value, "0123456789abcdef") == size;
     }},
    {"UNSPOOL_ROOT_PID", "a process id",
     [](const char* value, Settings* s) {
       uint32_t pid = 0;
       const bool is_pid = ParseNumber(value, 1, INT32_MAX, &pid);
       s->root_pid = static_cast<int32_t>(pid);
       return is_pid;
     }},
};

}  // namespace

Problem ReadSettings(GetVariable get, Settings* settings) {
  for (const Variable& variable : kVariables) {
    const char* value = get(variable.name);
    if (value == nullptr || *value == '\0') continue;
    if (!variable.parse(value, settings)) {
      return Rejected(variable.name, value, variable.expected);
    }
  }
  return {};
}

Problem ApplyOptions(const unspool_options* options, Settings* settings) {
  if (options == nullptr) return {};
  unspool_options given{};
  if (options->size < sizeof(given.size) || options->size > sizeof(given)) {
    return MakeProblem(EINVAL, "unspool_options.size is %zu, not %zu",
                       options->size, sizeof(given));
  }
  memcpy(&given, options, options->size);
  if (given.output != nullptr) {
    if (!IsProfileName(given.output)) {
      return Rejected("output", given.output, kOutputText);
    }
    settings->output = given.output;
  }
  if (given.frequency != 0) settings->frequency = given.frequency;
  if (given.max_depth != 0) settings->max_depth = given.max_depth;
  if (given.sample_signal != 0) settings->signal = given.sample_signal;
  if (given.clock != 0) {
    if (given.clock != UNSPOOL_CLOCK_CPU && given.clock != UNSPOOL_CLOCK_WALL) {
      return MakeProblem(EINVAL, "clock %d is not known", given.clock);
    }
    settings->clock = given.clock == UNSPOOL_CLOCK_WALL ? SampleClock::kWall
                                                        : SampleClock::kCpu;
  }
  if (settings->frequency > kMaxFrequency) {
    return MakeProblem(EINVAL, "frequency %u is above %u", settings->frequency,
                       kMaxFrequency);
  }
  if (settings->max_depth > kMaxStackDepth) {
    return MakeProblem(EINVAL, "max_depth %u is above %u", settings->max_depth,
                       kMaxStackDepth);
  }
  if (!collectors::IsSampleSignal(settings->signal)) {
    return MakeProblem(EINVAL, "signal %d cannot carry samples",
                       settings->signal);
  }
  return {};
}

}  // namespace unspool::profiler
