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
#include "exporters/fd_stream.h"
#include "exporters/gzip.h"
#include "exporters/pprof_format.h"

namespace unspool::exporters {
namespace {

absl::Status WriteAll(int fd, const Render& render, const std::string& path) {
  FdStream out(fd);
  absl::Status status = render(out);
  const int error = out.Finish();
  return status.ok() && error != 0 ? absl::ErrnoToStatus(error, path) : status;
}

// Renders into a new file "`path`.tmpXXXXXX" and gives it the name `path`.
absl::Status WriteFileAndRename(const std::string& path, const Render& render) {
  std::string temporary = path + ".tmpXXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  // mkostemp made it 0600; a profile is as readable as any file of the user.
  const mode_t mask = umask(0);
  umask(mask);
  absl::Status status = WriteAll(fd, render, path);
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
absl::Status WriteInPlace(const std::string& path, const Render& render) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  absl::Status status = WriteAll(fd, render, path);
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

absl::Status WriteFile(const std::string& path, const Render& render) {
  return IsSpecialFile(path) ? WriteInPlace(path, render)
                             : WriteFileAndRename(path, render);
}

absl::Status WriteFile(const std::string& path, std::string_view bytes) {
  return WriteFile(path, [bytes](std::ostream& out) {
    out << bytes;
    return absl::OkStatus();
  });
}

absl::Status WriteStdout(const Render& render) {
  return WriteAll(STDOUT_FILENO, render, "stdout");
}

absl::Status WritePprof(const Profile& profile, const std::string& path) {
  return WriteFile(path, SerializePprof(profile, !path.ends_with(".pb")));
}

}  // namespace unspool::exporters
