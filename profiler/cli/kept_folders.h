// The folders where JIT compilers leave the names of their code, of recorded
// processes that see other file systems than the tool: kept open, because they
// are gone with the last process that sees them.

#ifndef UNSPOOL_PROFILER_CLI_KEPT_FOLDERS_H_
#define UNSPOOL_PROFILER_CLI_KEPT_FOLDERS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "exporters/symbolizer/recorded_files.h"
#include "profiler/agent/unique_fd.h"
#include "profiler/cli/recorded_process.h"

namespace unspool::profiler {

// Thread rule: one thread.
class KeptFolders {
 public:
  // Whether Keep() may still be of use for an image; counts how often it was
  // asked. Not async-signal-safe: allocates.
  bool IsWanted(uint32_t image);

  // Keeps /tmp and the working folder of the process that is an image, `pid`
  // its own number. `room`: descriptors that may be taken; those taken are
  // subtracted. Not async-signal-safe: opens folders, allocates.
  void Keep(uint32_t image, int64_t pid, const RecordedProcess& process,
            size_t* room);

  // Of all processes of that number. Not async-signal-safe: allocates.
  exporters::ProcessFolders Find(int64_t pid) const;

 private:
  struct Kept {
    std::string temporary;  // "": none, both
    std::string working;
  };
  std::string KeepOpen(UniqueFd folder, size_t* room);

  std::map<uint32_t, int> tries_;  // by image; kFound once it is kept
  std::multimap<int64_t, Kept> of_process_;
  std::map<std::pair<dev_t, ino_t>, UniqueFd> opened_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_KEPT_FOLDERS_H_
