// What a file holds decides how it is read, not its name.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collectors/spool/spool_format.h"
#include "exporters/export.h"
#include "exporters/gperftools_profile.h"
#include "exporters/gzip.h"
#include "exporters/pprof_format.h"
#include "exporters/raw/raw_pprof.h"

namespace unspool::exporters {
namespace {

class ScopedFd {
 public:
  explicit ScopedFd(int fd) : fd_(fd) {}
  ~ScopedFd() {
    if (fd_ >= 0) close(fd_);
  }
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Appends to *out until the end of the file, at most `max_bytes` in all.
absl::Status ReadUpTo(int fd, size_t max_bytes, std::string* out) {
  constexpr size_t kChunkBytes = size_t{256} << 10;
  while (out->size() < max_bytes) {
    const size_t old_size = out->size();
    out->resize(std::min(max_bytes, old_size + kChunkBytes));
    const ssize_t got =
        read(fd, out->data() + old_size, out->size() - old_size);
    out->resize(old_size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "read");
    if (got == 0) break;
  }
  return absl::OkStatus();
}

bool IsSpool(std::string_view head) {
  uint64_t magic = 0;
  if (head.size() < sizeof(magic)) return false;
  memcpy(&magic, head.data(), sizeof(magic));
  return magic == collectors::kSpoolMagic;
}

std::string_view Explain(RawStatus status) {
  switch (status) {
    case RawStatus::kOk:
      return "";
    case RawStatus::kNotASpool:
      return "not a profile or spool";
    case RawStatus::kWrongVersion:
      return "a spool of another version of unspool: read it with that one";
    case RawStatus::kCorrupt:
      return "a spool without a recording in it that can be read";
    case RawStatus::kNoMemory:
      return "out of memory";
    case RawStatus::kSinkFailed:
      return "too large";
  }
  return "";
}

bool AppendToString(void* context, const void* data, size_t size) {
  auto* out = static_cast<std::string*>(context);
  if (size > kMaxPprofBytes - out->size()) return false;
  out->append(static_cast<const char*>(data), size);
  return true;
}

// A spool is sparse and may be large: mapped, not read.
absl::StatusOr<Profile> LoadSpool(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return absl::ErrnoToStatus(errno, "stat");
  const auto size = static_cast<size_t>(info.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap");
  std::string bytes;
  const RawStatus status =
      WriteRawPprof(std::span(static_cast<const uint8_t*>(mapped), size),
                    RawOptions{}, ByteSink{AppendToString, &bytes}, nullptr);
  munmap(mapped, size);
  if (status != RawStatus::kOk) {
    return absl::InvalidArgumentError(std::string(Explain(status)));
  }
  return DecodePprof(bytes);
}

absl::StatusOr<Profile> LoadPlain(std::string_view bytes) {
  return IsGperftoolsProfile(bytes) ? DecodeGperftools(bytes)
                                    : DecodePprof(bytes);
}

absl::StatusOr<Profile> LoadPprof(std::string_view bytes) {
  if (!IsGzip(bytes)) return LoadPlain(bytes);
  absl::StatusOr<std::string> plain = Gunzip(bytes, kMaxPprofBytes);
  if (!plain.ok()) return plain.status();
  return LoadPlain(*plain);
}

absl::StatusOr<Profile> LoadFromFd(int fd) {
  std::string bytes;
  absl::Status status = ReadUpTo(fd, sizeof(collectors::kSpoolMagic), &bytes);
  if (!status.ok()) return status;
  if (bytes.empty()) return absl::InvalidArgumentError("empty file");
  if (IsSpool(bytes)) return LoadSpool(fd);
  // One byte more than may be is how "too large" shows.
  status = ReadUpTo(fd, kMaxPprofBytes + 1, &bytes);
  if (!status.ok()) return status;
  if (bytes.size() > kMaxPprofBytes) {
    return absl::InvalidArgumentError("too large");
  }
  return LoadPprof(bytes);
}

// The kernel marks the paths of files that were deleted while they were mapped
// (proc(5)), and not every profiler takes that off again. A file may be called
// so.
void CutDeletedMarks(Profile& profile) {
  constexpr std::string_view kMark = " (deleted)";
  for (Mapping& mapping : profile.mappings) {
    const std::string path(profile.strings[mapping.filename]);
    if (!path.ends_with(kMark) || access(path.c_str(), F_OK) == 0) continue;
    mapping.filename =
        profile.strings.Intern(path.substr(0, path.size() - kMark.size()));
  }
}

}  // namespace

absl::StatusOr<Profile> LoadProfile(const std::string& path) {
  const ScopedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return absl::ErrnoToStatus(errno, path);
  absl::StatusOr<Profile> profile = LoadFromFd(fd.get());
  if (profile.ok()) CutDeletedMarks(*profile);
  if (!profile.ok()) {
    return absl::Status(profile.status().code(),
                        path + ": " + std::string(profile.status().message()));
  }
  return profile;
}

}  // namespace unspool::exporters
