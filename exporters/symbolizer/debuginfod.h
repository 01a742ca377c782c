// Debug files from servers (debuginfod(8)), for those who ask for them by
// setting DEBUGINFOD_URLS.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace unspool::exporters {

// The servers of DEBUGINFOD_URLS. Thread rule: any number of threads.
class Debuginfod {
 public:
  Debuginfod() = default;
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  // The path, in debuginfod's cache, of the debug file with this build id
  // (hex), downloaded if it is not there yet. Its contents are what a server
  // says: to be checked. A download that makes no headway for
  // DEBUGINFOD_TIMEOUT (30) seconds, or takes more than ten minutes, is given
  // up, and nothing is asked for after that: many files of a slow server cost
  // no more time than one. Other variables hold as debuginfod-find(1) has them.
  // NotFound: DEBUGINFOD_URLS is not set, or no server has the file; nothing
  // was asked in the first case. DeadlineExceeded: too slow. Cancelled: Stop.
  // Other errors say what keeps
  // the servers from being asked.
  // Not async-signal-safe: allocates, uses the network.
  absl::StatusOr<std::string> Find(const std::string& build_id);

  // Ends what is under way within a second or so, and asks for no more.
  void Stop() { is_stopped_ = true; }

 private:
  struct Download;

  absl::Status CheckUsable() const;
  static int OnProgress(void* client, long done, long total);

  std::atomic<bool> is_stopped_{false};
  std::atomic<bool> is_too_slow_{false};
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DEBUGINFOD_H_
