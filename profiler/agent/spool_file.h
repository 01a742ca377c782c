// The file behind the recording: found, or made where it survives the process
// and costs no disk.

#ifndef UNSPOOL_PROFILER_AGENT_SPOOL_FILE_H_
#define UNSPOOL_PROFILER_AGENT_SPOOL_FILE_H_

#include <limits.h>

#include "profiler/agent/message.h"
#include "profiler/agent/unique_fd.h"

namespace unspool::profiler {

// An open spool, not yet mapped.
struct SpoolFile {
  UniqueFd fd;
  // Empty for a memfd and for a spool that somebody else keeps: nothing to
  // remove, nothing to export after a crash.
  char path[PATH_MAX] = {};
  bool is_resumed = false;  // holds what was recorded before exec
};

// Opens the spool that `unspool record` keeps, by the name it gave.
// Not async-signal-safe: formats the problem.
[[nodiscard]] Problem OpenToolSpool(const char* path, SpoolFile* file);

// True if `unspool record` was killed: then nobody will make a profile of the
// spool that it gave the path of. Async-signal-safe.
bool IsToolGone(const char* path);

// Part of the names of all spools of a process and its descendants.
struct SpoolTag {
  char text[9] = {};
};
// Not async-signal-safe: formats.
SpoolTag NewSpoolTag();

// Makes an empty spool named unspool-PID-TAG.spool on a tmpfs (/dev/shm, else
// XDG_RUNTIME_DIR), else, saying so unless quiet, in TMPDIR or /tmp, else a
// memfd, which does not survive SIGKILL. A spool of ours of that name is the
// one from before exec, and opened instead. The size adapts to RLIMIT_AS and
// RLIMIT_FSIZE. Not async-signal-safe: reads the environment, formats.
[[nodiscard]] Problem CreateSpool(const char* tag, bool is_quiet,
                                  SpoolFile* file);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SPOOL_FILE_H_
