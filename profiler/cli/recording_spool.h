// The spool of one recording: a memfd that the tool holds, so that it outlives
// the program however that ends.

#ifndef UNSPOOL_PROFILER_CLI_RECORDING_SPOOL_H_
#define UNSPOOL_PROFILER_CLI_RECORDING_SPOOL_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_reader.h"
#include "profiler/agent/unique_fd.h"

namespace unspool::profiler {

class RecordingSpool {
 public:
  // Creates and maps it: sparse, a quarter of the machine's memory but from 1
  // to 16 GiB; less where RLIMIT_FSIZE or RLIMIT_AS leave no room for that. The
  // descriptor is closed on exec. Throws Failure(kExitFailure).
  RecordingSpool();
  RecordingSpool(const RecordingSpool&) = delete;
  RecordingSpool& operator=(const RecordingSpool&) = delete;
  ~RecordingSpool();

  // Where the agent opens it: "/proc/<pid>/fd/<n>". By way of the tool, because
  // the program itself must not find a descriptor that it did not open.
  const std::string& path() const { return path_; }

  // How mappings of it are told from others in /proc/PID/maps.
  uint64_t inode() const { return inode_; }

  // How many modules were recorded so far, those of each process by itself. Any
  // thread.
  uint32_t module_count() const;

  // Asks all agents to stop sampling. Any thread.
  void StopSampling();

  // Until CloseDescriptor().
  int fd() const { return fd_.get(); }
  // No process can open it from now on; frees a descriptor for what is to come.
  void CloseDescriptor() { fd_.Reset(); }

  // Pages that were handed out and hold something. Any thread.
  uint64_t used_pages() const;
  // Of the whole file.
  uint64_t page_count() const { return size_ / collectors::kSpoolPageSize; }
  // Gives pages that nobody uses any more back to the kernel, and lets the
  // processes take them.
  void Free(std::span<const collectors::PageRun> runs);
  // Opens a reader for what is there now. Pages that nobody uses are not looked
  // at, which would fill them again. False: there is nothing to read.
  [[nodiscard]] bool Read(collectors::SpoolReader& reader);
  // Nobody takes freed pages any more; they are in unused() from now on,
  // ascending.
  void WithdrawUnused();
  std::span<const collectors::PageRun> unused() const { return unused_; }

  // The whole file, while the agent may still write to it.
  std::span<const uint8_t> bytes() const { return {bytes_, size_}; }

  // Copies what was recorded to a new file that nobody else may read. Returns
  // false, with errno set, if that fails; then there is no such file.
  bool SaveTo(const std::string& path) const;

 private:
  collectors::SpoolHeader& header() const;
  collectors::SpoolControl& control() const;
  void KeepUnused(collectors::PageRun run);
  void OfferUnused();
  bool WriteUsedPages(int fd) const;

  UniqueFd fd_;
  uint8_t* bytes_ = nullptr;
  uint64_t size_ = 0;
  uint64_t inode_ = 0;
  std::string path_;
  std::map<uint64_t, uint64_t> free_;  // first page → pages, not offered
  std::vector<collectors::PageRun> unused_;  // the same
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_RECORDING_SPOOL_H_
