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
  const bool has_birth = (file.stx_mask & STATX_BTIME) != 0;
  if (!process.has_our_number &&
      !(has_birth && Nanos(file.stx_btime) + kSlackNs >= process.start_ns)) {
    return absl::FailedPreconditionError(
        "was made before the recording began, and is perhaps of a process of "
        "the same number in another pid namespace");
  }
  if (has_birth && process.end_ns != 0 &&
      Nanos(file.stx_btime) - kSlackNs > process.end_ns) {
    return absl::FailedPreconditionError(
        "was made after the recording ended: it is of another process");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JitFile> JitFile::Open(const std::string& path,
                                      const JitProcess& process,
                                      const Tick& tick) {
  JitFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), tick);
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
      tick_(other.tick_),
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
  if (!is_buffered) Fill(offset, size);
  const std::string_view all(buffer_.data(), buffer_.size());
  const uint64_t skipped =
      std::min<uint64_t>(offset - buffer_offset_, all.size());
  return all.substr(skipped, size);
}

// More than is asked for, in the direction in which the file is read.
void JitFile::Fill(uint64_t offset, size_t size) {
  tick_();
  const size_t room = std::max(size, kWindowBytes);
  if (offset < buffer_offset_)
    offset -= std::min<uint64_t>(offset, room - size);
  buffer_.resize(room);
  buffer_offset_ = offset;
  size_t count = 0;
  while (count < room) {
    const ssize_t got = pread(fd_, &buffer_[count], room - count,
                              static_cast<off_t>(offset + count));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    count += static_cast<size_t>(got);
  }
  buffer_.resize(count);
}

}  // namespace unspool::exporters
