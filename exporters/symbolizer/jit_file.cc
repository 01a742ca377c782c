#include "exporters/symbolizer/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

constexpr size_t kWindowBytes = 65536;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
// Times of files are those of the kernel's last tick.
constexpr int64_t kSlackNs = kNanosPerSecond;

int64_t Nanos(const struct statx_timestamp& time) {
  return time.tv_sec * kNanosPerSecond + time.tv_nsec;
}

absl::Status Check(const struct statx& file, const JitProcess& process) {
  if (!S_ISREG(file.stx_mode)) {
    return absl::FailedPreconditionError("is not a regular file");
  }
  if (file.stx_uid != 0 && file.stx_uid != geteuid()) {
    return absl::FailedPreconditionError(
        "belongs neither to you nor to root: change its owner if you trust it");
  }
  if (process.start_ns == 0) return absl::OkStatus();
  if (Nanos(file.stx_mtime) + kSlackNs < process.start_ns) {
    return absl::FailedPreconditionError(
        "was last written before the recording began: touch it if it is of the "
        "process that was recorded");
  }
  if ((file.stx_mask & STATX_BTIME) != 0 && process.end_ns != 0 &&
      Nanos(file.stx_btime) - kSlackNs > process.end_ns) {
    return absl::FailedPreconditionError(
        "was made after the recording ended: it is of another process");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JitFile> JitFile::Open(const std::string& path,
                                      const JitProcess& process) {
  JitFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd_ < 0) {
    return absl::ErrnoToStatus(errno, "cannot be read");
  }
  struct statx facts = {};
  if (statx(file.fd_, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME,
            &facts) != 0) {
    return absl::ErrnoToStatus(errno, "cannot be read");
  }
  absl::Status status = Check(facts, process);
  if (!status.ok()) return status;
  file.size_ = facts.stx_size;
  return file;
}

JitFile::JitFile(JitFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      buffer_(std::move(other.buffer_)),
      buffer_offset_(other.buffer_offset_) {}

JitFile::~JitFile() {
  if (fd_ >= 0) close(fd_);
}

std::string_view JitFile::Read(uint64_t offset, size_t size) {
  const bool is_buffered = offset >= buffer_offset_ &&
                           offset - buffer_offset_ <= buffer_.size() &&
                           buffer_.size() - (offset - buffer_offset_) >= size;
  if (!is_buffered) {
    buffer_.resize(std::max(size, kWindowBytes));
    buffer_offset_ = offset;
    size_t count = 0;
    while (count < buffer_.size()) {
      const ssize_t got = pread(fd_, &buffer_[count], buffer_.size() - count,
                                static_cast<off_t>(offset + count));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      count += static_cast<size_t>(got);
    }
    buffer_.resize(count);
  }
  const std::string_view all(buffer_.data(), buffer_.size());
  return all.substr(offset - buffer_offset_, size);
}

}  // namespace unspool::exporters
