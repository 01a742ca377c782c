// The files of recorded modules and the folders of their JIT compilers, opened
// while the processes live. Names are looked up when they are gone, and with
// them what was deleted or replaced since, their roots and mount namespaces.

#ifndef UNSPOOL_PROFILER_CLI_KEPT_FILES_H_
#define UNSPOOL_PROFILER_CLI_KEPT_FILES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "collectors/spool/spool_reader.h"
#include "exporters/symbolizer/recorded_files.h"
#include "profiler/agent/unique_fd.h"
#include "profiler/cli/kept_folders.h"
#include "profiler/cli/recorded_process.h"
#include "profiler/cli/recording_spool.h"

namespace unspool::profiler {

// Thread rule: one thread.
class KeptFiles : public exporters::RecordedFiles {
 public:
  // Keeps at most half of the descriptors that the tool may have. `spool` must
  // outlive it.
  explicit KeptFiles(RecordingSpool& spool);

  // Opens what was recorded since the last call, and returns when to call
  // again: soon after there was news, later when nothing happens, and so that
  // looking takes no more than a fiftieth of the time.
  // Not async-signal-safe: reads files, allocates.
  std::chrono::nanoseconds Look();

  // What it gives can be opened as long as this object lives.
  exporters::FoundFile FindFile(const std::string& path,
                                std::string_view build_id) const override;
  exporters::ProcessFolders FindFolders(int64_t pid) const override;

 private:
  using Key = std::pair<std::string, std::string>;  // path, build id in hex
  struct Entry {
    int tries = 0;
    UniqueFd file;
    const UniqueFd* root = nullptr;  // null: the tool's own
  };
  class Processes;

  void LookThrough();
  void Consider(const collectors::ModuleView& module,
                const collectors::ImageView& image, Processes& processes);
  const UniqueFd* KeepRoot(const RecordedProcess& process);

  RecordingSpool& spool_;
  size_t room_;  // descriptors
  uint32_t seen_modules_ = 0;
  std::chrono::nanoseconds interval_;
  std::map<Key, Entry> entries_;
  std::map<RootId, UniqueFd> roots_;
  KeptFolders folders_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_KEPT_FILES_H_
