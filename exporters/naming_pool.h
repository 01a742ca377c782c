// Names the addresses of many modules on all cores: a queue of modules to open
// and of parts of modules to name. A part is whole DWARF units, so that each
// unit is walked once; each worker reads DWARF through a handle of its own.

#ifndef UNSPOOL_EXPORTERS_NAMING_POOL_H_
#define UNSPOOL_EXPORTERS_NAMING_POOL_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exporters/name_table.h"
#include "exporters/symbolizer/debuginfod.h"
#include "exporters/symbolizer/module_tables.h"
#include "exporters/symbolizer/recorded_files.h"

namespace unspool::exporters {

// Addresses of one file. `path` may be "[vdso]".
struct NamingRequest {
  std::string path;
  std::string build_id;           // hex; "": any file will do
  FoundFile found;                // where it can be opened
  uint64_t code_offset = 0;       // in the file, of its mapping
  std::vector<uint64_t> offsets;  // of the file, distinct
};

struct NamingAnswer {
  absl::Status status;      // why names are missing
  bool is_damaged = false;  // some DWARF is
  // By address; their keys are indices into the request's offsets.
  std::vector<NameTable> names;
};

// Thread rule: one thread.
class NamingPool {
 public:
  // How many addresses have a name, and a file that is at work.
  using Report = std::function<void(std::string_view path, uint64_t done)>;

  explicit NamingPool(std::vector<NamingRequest> requests);

  // Returns when all is named, by a thread for each processor or by as many as
  // may be started: without any, by this one. A file that there is no memory
  // for has that as its status. `report` is called on this thread, at once and
  // then some ten times a second; if it throws, the workers are stopped, and
  // the answers are what was named by then.
  // Not async-signal-safe: starts threads.
  void Run(const Report& report);

  // One per request. The same requests get the same answers, in the same order.
  const std::vector<NamingAnswer>& answers() const { return answers_; }

  // Files of a request that were found and not used, or that are missing: one
  // line each. Precondition: Run has returned.
  std::vector<std::string> Problems(size_t request) const;

 private:
  struct Task {
    uint32_t module;
    bool is_open;   // whether the module is to be opened, not a part named
    uint32_t part;  // index into the answer's names
    // ELF virtual addresses, sorted, with the indices of their offsets.
    std::vector<std::pair<uint64_t, uint32_t>> addresses;
  };
  class Worker;

  void StartWorkers(std::vector<pthread_t>* workers);
  void Work(const Report* report);
  bool NextTask(Task* task);
  void FinishTask(std::vector<Task> more);
  void NoteNoMemory(uint32_t module);
  void NoteDamage(uint32_t module);
  void Stop(std::exception_ptr error);
  void Wait(const Report& report);

  const std::vector<NamingRequest> requests_;
  std::vector<NamingAnswer> answers_;
  // Set by the worker that opens a module, before its parts are in the queue.
  std::vector<std::shared_ptr<const ModuleTables>> tables_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;    // guarded by mutex_, as all up to stop_
  size_t running_ = 0;        // tasks taken and not finished
  uint32_t last_module_ = 0;  // of the task that was taken last
  std::exception_ptr error_;  // of the first worker that failed
  std::atomic<bool> stop_{false};
  Debuginfod servers_;
  std::atomic<uint64_t> done_{0};
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_NAMING_POOL_H_
