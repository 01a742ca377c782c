// The output file: complete under its name, or not there.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "exporters/export.h"
#include "exporters/gzip.h"
#include "exporters/pprof_format.h"

namespace unspool::exporters {
namespace {

absl::Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::ErrnoToStatus(errno, path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Writes `bytes` to a new file "`path`.tmpXXXXXX" and gives it the name `path`.
absl::Status WriteFileAndRename(const std::string& path,
                                std::string_view bytes) {
  std::string temporary = path + ".tmpXXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  // mkostemp made it 0600; a profile is as readable as any file of the user.
  const mode_t mask = umask(0);
  umask(mask);
  absl::Status status = WriteAll(fd, bytes, path);
  if (status.ok() && fchmod(fd, 0666 & ~mask) != 0) {
    status = absl::ErrnoToStatus(errno, path);
  }
  if (close(fd) != 0 && status.ok()) {
    status = absl::ErrnoToStatus(errno, path);
  }
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = absl::ErrnoToStatus(errno, path);
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

bool IsSpecialFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// A pipe or device (/dev/stdout, /dev/null) is written in place.
absl::Status WriteInPlace(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  absl::Status status = WriteAll(fd, bytes, path);
  if (close(fd) != 0 && status.ok()) {
    status = absl::ErrnoToStatus(errno, path);
  }
  return status;
}

}  // namespace

std::string SerializePprof(const Profile& profile, bool gzip) {
  std::string bytes = EncodePprof(profile);
  return gzip ? Gzip(bytes) : bytes;
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  return IsSpecialFile(path) ? WriteInPlace(path, bytes)
                             : WriteFileAndRename(path, bytes);
}

absl::Status WritePprof(const Profile& profile, const std::string& path) {
  return WriteFile(path, SerializePprof(profile, !path.ends_with(".pb")));
}

}  // namespace unspool::exporters
