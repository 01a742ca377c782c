#include "profiler/agent/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/raw/raw_pprof.h"
#include "profiler/agent/unique_fd.h"

namespace unspool::profiler {
namespace {

bool IsSpecialFile(const char* path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

Problem CannotWrite(const char* path, int error) {
  return MakeProblem(error, "cannot write the profile %s: %s", path,
                     strerrordesc_np(error));
}

// Buffers, so that small pieces do not become small writes.
class FileSink {
 public:
  FileSink(int fd, uint64_t limit_bytes) : fd_(fd), left_(limit_bytes) {}

  exporters::ByteSink sink() { return {&FileSink::Write, this}; }

  bool Flush() {
    const char* data = buffer_;
    while (used_ != 0) {
      const ssize_t written = write(fd_, data, used_);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      data += written;
      used_ -= static_cast<size_t>(written);
    }
    return true;
  }

 private:
  static bool Write(void* context, const void* data, size_t size) {
    return static_cast<FileSink*>(context)->Append(
        static_cast<const char*>(data), size);
  }

  bool Append(const char* data, size_t size) {
    if (size > left_) {
      errno = EFBIG;
      return false;
    }
    left_ -= size;
    while (size != 0) {
      const size_t room = sizeof(buffer_) - used_;
      const size_t count = size < room ? size : room;
      memcpy(buffer_ + used_, data, count);
      used_ += count;
      data += count;
      size -= count;
      if (used_ == sizeof(buffer_) && !Flush()) return false;
    }
    return true;
  }

  int fd_;
  uint64_t left_;
  size_t used_ = 0;
  char buffer_[4096];
};

const char* Describe(exporters::RawStatus status) {
  switch (status) {
    case exporters::RawStatus::kSinkFailed:
      return strerrordesc_np(errno);
    case exporters::RawStatus::kNoMemory:
      return "not enough memory";
    default:
      return "the recording is damaged";
  }
}

uint64_t FileSizeLimit() {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

Problem WriteTo(const UniqueFd& fd, std::span<const uint8_t> spool,
                uint64_t end_monotonic_ns, const OutputName& name) {
  if (!fd.is_valid()) return CannotWrite(name.text, errno);
  FileSink sink(fd.get(), FileSizeLimit());
  exporters::RawOptions options;
  options.end_monotonic_ns = end_monotonic_ns;
  options.gzip = WantsGzip(name.text);
  errno = 0;
  const exporters::RawStatus status =
      exporters::WriteRawPprof(spool, options, sink.sink(), nullptr);
  if (status != exporters::RawStatus::kOk) {
    const int error = errno != 0 ? errno : EIO;
    return MakeProblem(error, "cannot write the profile %s: %s", name.text,
                       Describe(status));
  }
  return sink.Flush() ? Problem{} : CannotWrite(name.text, errno);
}

// The temporary file, for nobody whom the one that it replaces is not for.
UniqueFd OpenTemporary(const char* temporary, const char* replaced) {
  constexpr mode_t kPermissions = 0777;
  struct stat old;
  const bool is_there = stat(replaced, &old) == 0 && S_ISREG(old.st_mode);
  return UniqueFd(open(temporary,
                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                       is_there ? old.st_mode & kPermissions : 0666));
}

// As rename(2), but that ext4 does not write `from` to the disk at once, which
// it does where a file is replaced (ext4(5), auto_da_alloc): the program's exit
// would wait for it, up to a millisecond. After a power failure the file may be
// empty.
bool Replace(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) {
    return unlink(from) == 0;
  }
  return rename(from, to) == 0;  // nothing is there, or it cannot be exchanged
}

}  // namespace

Problem CheckOutput(OutputName* name) {
  ResolveLinks(name);
  if (IsSpecialFile(name->text)) {
    struct stat target;
    if (stat(name->text, &target) == 0 && S_ISDIR(target.st_mode)) {
      return CannotWrite(name->text, EISDIR);
    }
    return access(name->text, W_OK) == 0 ? Problem{}
                                         : CannotWrite(name->text, errno);
  }
  OutputName folder = *name;
  char* slash = strrchr(folder.text, '/');
  slash[slash == folder.text ? 1 : 0] = '\0';
  return faccessat(AT_FDCWD, folder.text, W_OK | X_OK, AT_EACCESS) == 0
             ? Problem{}
             : CannotWrite(name->text, errno);
}

Problem WriteProfile(std::span<const uint8_t> spool, uint64_t end_monotonic_ns,
                     const OutputName& name) {
  if (IsSpecialFile(name.text)) {
    return WriteTo(UniqueFd(open(name.text, O_WRONLY | O_CLOEXEC | O_NOCTTY)),
                   spool, end_monotonic_ns, name);
  }
  char temporary[PATH_MAX];
  const int size =
      snprintf(temporary, sizeof(temporary), "%s.%d.tmp", name.text, getpid());
  if (size < 0 || static_cast<size_t>(size) >= sizeof(temporary)) {
    return CannotWrite(name.text, ENAMETOOLONG);
  }
  unlink(temporary);  // of a process with our number that was killed here
  Problem problem = WriteTo(OpenTemporary(temporary, name.text), spool,
                            end_monotonic_ns, name);
  if (problem.ok() && !Replace(temporary, name.text)) {
    problem = CannotWrite(name.text, errno);
  }
  if (!problem.ok()) unlink(temporary);
  return problem;
}

}  // namespace unspool::profiler
