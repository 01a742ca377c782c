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
#include "exporters/held_signals.h"
#include "exporters/pprof_format.h"

namespace unspool::exporters {
namespace {

absl::Status WriteAll(int fd, const Render& render, const std::string& path) {
  FdStream out(fd);
  absl::Status status = render(out);
  const int error = out.Finish();
  return status.ok() && error != 0 ? absl::ErrnoToStatus(error, path) : status;
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  absl::Status status = absl::ErrnoToStatus(errno, to);
  unlink(from.c_str());
  return status;
}

std::string DescriptorPath(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

// A file without a name in the folder of `path`, which is gone whatever ends
// this process; -1 where the file system has none, or /proc, by which it would
// get its name, is missing.
int OpenUnnamed(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == path.npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0 || access(DescriptorPath(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

// Gives an unnamed file the name `path`, which another file may have: by way of
// a name that nobody has, whatever an earlier run left behind.
absl::Status NameFile(int fd, const std::string& path) {
  constexpr uint32_t kMaxTries = 1000;
  const HeldSignals held;  // between two names
  const auto link_to = [fd](const std::string& name) {
    return linkat(AT_FDCWD, DescriptorPath(fd).c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_to(path)) return absl::OkStatus();
  for (uint32_t i = 0; i < kMaxTries && errno == EEXIST; ++i) {
    const std::string temporary =
        path + ".tmp" + std::to_string(getpid()) + "." + std::to_string(i);
    if (link_to(temporary)) return Rename(temporary, path);
  }
  return absl::ErrnoToStatus(errno, path);
}

absl::Status Close(int fd, const std::string& path, absl::Status status) {
  if (close(fd) == 0 || !status.ok()) return status;
  return absl::ErrnoToStatus(errno, path);
}

// Those of the file that has the name, as it may be for few to read; else those
// of any new file of the user.
mode_t PermissionsFor(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    return info.st_mode & 0777;
  }
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

absl::Status SetPermissions(int fd, const std::string& path) {
  return fchmod(fd, PermissionsFor(path)) == 0
             ? absl::OkStatus()
             : absl::ErrnoToStatus(errno, path);
}

// Renders into a new file "`path`.tmpXXXXXX" and gives it the name `path`. No
// signal ends the program meanwhile.
absl::Status WriteFileAndRename(const std::string& path, const Render& render) {
  const HeldSignals held;
  std::string temporary = path + ".tmpXXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  absl::Status status = WriteAll(fd, render, path);
  if (status.ok()) status = SetPermissions(fd, path);
  status = Close(fd, path, status);
  if (status.ok()) return Rename(temporary, path);
  unlink(temporary.c_str());
  return status;
}

absl::Status WriteNewFile(const std::string& path, const Render& render) {
  const int fd = OpenUnnamed(path);
  if (fd < 0) return WriteFileAndRename(path, render);
  absl::Status status = WriteAll(fd, render, path);
  if (status.ok()) status = SetPermissions(fd, path);
  if (status.ok()) status = NameFile(fd, path);
  return Close(fd, path, status);
}

bool IsSpecialFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// A pipe or device (/dev/stdout, /dev/null) is written in place.
absl::Status WriteInPlace(const std::string& path, const Render& render) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  return Close(fd, path, WriteAll(fd, render, path));
}

}  // namespace

std::string SerializePprof(const Profile& profile, bool gzip) {
  std::string bytes = EncodePprof(profile);
  return gzip ? Gzip(bytes) : bytes;
}

absl::Status WriteFile(const std::string& path, const Render& render) {
  return IsSpecialFile(path) ? WriteInPlace(path, render)
                             : WriteNewFile(path, render);
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
