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
};

// Opens the spool that `unspool record` keeps, by the name it gave.
// Not async-signal-safe: formats the problem.
[[nodiscard]] Problem OpenToolSpool(const char* path, SpoolFile* file);

// Opens the spool of the image that this process was before exec:
// `resume` is "PID:PATH". False if it is another process's, or gone, or not a
// regular file of ours. Not async-signal-safe: sets up.
[[nodiscard]] bool OpenResumedSpool(const char* resume, SpoolFile* file);

// Makes an empty spool named unspool-PID-XXXXXX.spool on a tmpfs (/dev/shm,
// else XDG_RUNTIME_DIR), else, saying so, in TMPDIR or /tmp, else a memfd,
// which does not survive SIGKILL. The size adapts to RLIMIT_AS and
// RLIMIT_FSIZE. Not async-signal-safe: reads the environment, formats.
[[nodiscard]] Problem CreateSpool(SpoolFile* file);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_SPOOL_FILE_H_
