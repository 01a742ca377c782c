// A file that a JIT compiler wrote for profilers, in a folder where everybody
// may write: whose it is and when it was written decide whether it is believed.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_FILE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/symbolizer/recorded_files.h"

namespace unspool::exporters {

// A process that was recorded, and when.
struct JitProcess {
  int64_t pid = 0;  // as it knows itself
  // Whether nobody else that we see can have that number: it is in our pid
  // namespace.
  bool has_our_number = true;
  ProcessFolders folders;  // that it saw
  int64_t start_ns = 0;    // since the epoch; 0: unknown
  int64_t end_ns = 0;
};

// Called whenever some more was read; throws to end that.
using Tick = std::function<void()>;

// Read in pieces, not mapped: it may grow, or be cut, at any time.
// Thread rule: one thread.
class JitFile {
 public:
  // NotFound: there is none. FailedPrecondition: it is not regular, belongs
  // neither to this user nor to root (as perf has it), or is by its times that
  // of another process of the same number. Other errors are open(2)'s.
  // Never blocks on a fifo. `tick` must outlive the file.
  // Not async-signal-safe: allocates.
  static absl::StatusOr<JitFile> Open(const std::string& path,
                                      const JitProcess& process,
                                      const Tick& tick);
  JitFile(JitFile&& other) noexcept;
  JitFile& operator=(JitFile&&) = delete;
  ~JitFile();

  // Up to `size` bytes from `offset`; fewer at the end of the file, or where it
  // cannot be read. Valid until the next call.
  // Not async-signal-safe: allocates.
  std::string_view Read(uint64_t offset, size_t size);

  uint64_t size() const { return size_; }  // when it was opened

 private:
  JitFile(int fd, const Tick& tick) : fd_(fd), tick_(tick) {}
  void Fill(uint64_t offset, size_t size);

  int fd_;
  const Tick& tick_;
  uint64_t size_ = 0;
  std::vector<char> buffer_;  // of the file, from buffer_offset_ on
  uint64_t buffer_offset_ = 0;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_FILE_H_
