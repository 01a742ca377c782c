// Names of profiles: patterns, and one name per process.

#ifndef UNSPOOL_PROFILER_AGENT_OUTPUT_NAME_H_
#define UNSPOOL_PROFILER_AGENT_OUTPUT_NAME_H_

#include <limits.h>

#include <cstdint>

#include "profiler/agent/message.h"

namespace unspool::profiler {

struct OutputFacts {
  int32_t pid = 0;
  const char* program = "";    // %n: the program's name without directory
  uint64_t time_s = 0;         // %t: seconds since 1970
  const char* host = "";       // %h
  const char* directory = "";  // relative names are below it
  // The first process writes the name as given; every other one inserts .PID,
  // unless the pattern has %p.
  bool is_first_process = true;
};

// A path, NUL-terminated.
struct OutputName {
  char text[PATH_MAX] = {};
};

// Expands %p %n %t %h and %%, inserts ".PID" before the ending (x.pb.gz becomes
// x.PID.pb.gz, x.out x.PID.out, x x.PID) and makes the name absolute.
// EINVAL: another letter after %; ENAMETOOLONG.
// Not async-signal-safe: formats with snprintf.
[[nodiscard]] Problem ExpandOutput(const char* pattern,
                                   const OutputFacts& facts, OutputName* name);

// An absolute name through its symbolic links, if they end at a regular file or
// at nothing: a link to last week's profile stays a link. What leads to a pipe
// or device stays as it is; the name of a pipe in /proc/self/fd is none.
// Not async-signal-safe: realpath(3) allocates.
void ResolveLinks(OutputName* name);

// True if the name asks for gzip: all but those that end in ".pb".
bool WantsGzip(const char* name);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_OUTPUT_NAME_H_
