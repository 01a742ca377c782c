// A process that records, as /proc shows it to the tool: what it has mapped and
// which root it sees.

#ifndef UNSPOOL_PROFILER_CLI_RECORDED_PROCESS_H_
#define UNSPOOL_PROFILER_CLI_RECORDED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collectors/spool/spool_reader.h"
#include "profiler/agent/unique_fd.h"
#include "profiler/cli/recording_spool.h"

namespace unspool::profiler {

// A file of /proc; what can be read of it, "" if nothing.
// Not async-signal-safe: reads a file, allocates.
std::string ReadProc(const std::string& path);

// What a process has mapped (proc(5), /proc/PID/maps), "" if it cannot be read.
// Not async-signal-safe: reads files, allocates.
std::string ReadMaps(pid_t pid);

// Whether the spool is among `maps`. Not async-signal-safe: allocates.
bool HasSpool(std::string_view maps, const RecordingSpool& spool);

// Which file system a process sees: that of its mount namespace from its root.
struct RootId {
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string mounts;  // "mnt:[4026531840]"
  auto operator<=>(const RootId&) const = default;
};

// nullopt if it cannot be found out: the process has ended, or is another
// user's. Not async-signal-safe: allocates.
std::optional<RootId> ReadRootId(const std::string& process);

// The number that a process has in its own pid namespace, the tool calling it
// `pid`. Not async-signal-safe: reads a file, allocates.
pid_t InnermostPid(pid_t pid);

// The number of the pid namespace (namespaces(7)) of a process, given as
// "/proc/PID"; 0 if it cannot be found out. Not async-signal-safe: allocates.
uint32_t PidNamespaceOf(const std::string& process);

class RecordedProcess {
 public:
  // The process that the tool calls `pid`. is_alive() is false unless it has
  // the spool mapped and may be looked at (not another user's, nor
  // set-user-ID). Not async-signal-safe: reads files, allocates.
  RecordedProcess(const RecordingSpool& spool, pid_t pid);

  bool is_alive() const { return !maps_.empty(); }

  // "/proc/PID". Precondition: is_alive().
  const std::string& folder() const { return folder_; }

  // Opens the file that a module was loaded from: what is mapped, where the
  // tool may open that (CAP_CHECKPOINT_RESTORE); else what the process sees at
  // the path. Only if its build id is the module's, or if a module without one
  // has it mapped from that path. Invalid if there is no such file.
  // Not async-signal-safe: maps files, allocates.
  UniqueFd Open(const collectors::ModuleView& module) const;

 private:
  struct Line {
    std::string_view range;  // "7f12a000-7f12b000"
    std::string_view path;
  };
  Line FindLine(uint64_t address) const;

  std::string folder_;
  std::string maps_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_RECORDED_PROCESS_H_
