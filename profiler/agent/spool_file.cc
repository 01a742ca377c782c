#include "profiler/agent/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collectors/spool/spool_writer.h"

namespace unspool::profiler {
namespace {

constexpr uint64_t kCapacityBytes = uint64_t{1} << 30;

// The spool is sparse, but its mapping takes address space that a program under
// RLIMIT_AS may need: at most a sixteenth of what it has.
uint64_t Capacity() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return kCapacityBytes;
  const uint64_t share = limit.rlim_cur / 16;
  return share < kCapacityBytes ? share : kCapacityBytes;
}

bool IsTmpfs(const char* directory) {
  struct statfs status;
  return statfs(directory, &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

// The spool that this process was recording into before exec.
bool OpenOwn(SpoolFile* file) {
  file->fd = UniqueFd(open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat status;
  file->is_resumed = file->fd.is_valid() &&
                     fstat(file->fd.get(), &status) == 0 &&
                     S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (!file->is_resumed) file->fd.Reset();
  return file->is_resumed;
}

// Removes what it made if it cannot become a spool.
bool CreateIn(const char* directory, const char* tag, SpoolFile* file) {
  const int size = snprintf(file->path, sizeof(file->path),
                            "%s/unspool-%d-%s.spool", directory, getpid(), tag);
  if (size < 0 || static_cast<size_t>(size) >= sizeof(file->path)) {
    errno = ENAMETOOLONG;
  } else {
    file->fd = UniqueFd(open(file->path,
                             O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
    if (!file->fd.is_valid() && errno == EEXIST && OpenOwn(file)) return true;
  }
  if (file->fd.is_valid() &&
      collectors::SpoolWriter::Create(file->fd.get(), Capacity()) ==
          collectors::SpoolStatus::kOk) {
    return true;
  }
  if (file->fd.is_valid()) unlink(file->path);
  file->fd.Reset();
  file->path[0] = '\0';
  return false;
}

bool CreateOnTmpfs(const char* tag, SpoolFile* file) {
  const char* runtime = secure_getenv("XDG_RUNTIME_DIR");
  for (const char* directory : {"/dev/shm", runtime}) {
    if (directory != nullptr && IsTmpfs(directory) &&
        CreateIn(directory, tag, file)) {
      return true;
    }
  }
  return false;
}

bool CreateOnDisk(const char* tag, bool is_quiet, SpoolFile* file) {
  const char* temporary = secure_getenv("TMPDIR");
  for (const char* directory : {temporary, "/tmp"}) {
    if (directory == nullptr || !CreateIn(directory, tag, file)) continue;
    if (!is_quiet && !IsTmpfs(directory)) {
      Say("no tmpfs for the recording: %s is on a disk, whose writes may stall "
          "the program",
          file->path);
    }
    return true;
  }
  return false;
}

// Also if its parent has not waited for it yet: what is left then has a number,
// and the state Z (proc(5)), but nothing of what it held.
bool IsProcessGone(int pid) {
  if (kill(pid, 0) != 0) return errno == ESRCH;
  char path[32];
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char stat[256];
  const ssize_t size =
      fd.is_valid() ? read(fd.get(), stat, sizeof(stat) - 1) : -1;
  if (size <= 0) return false;
  stat[size] = '\0';
  // The name before it, in parentheses, may hold any byte.
  const char* name_end = strrchr(stat, ')');
  return name_end != nullptr && strncmp(name_end, ") Z", 3) == 0;
}

}  // namespace

Problem OpenToolSpool(const char* path, SpoolFile* file) {
  file->fd = UniqueFd(open(path, O_RDWR | O_CLOEXEC));
  if (file->fd.is_valid()) return {};
  return MakeProblem(errno,
                     "cannot open the recording %s that unspool record keeps: "
                     "%s; run unspool record as the user that the program "
                     "becomes",
                     path, strerrordesc_np(errno));
}

// Its descriptor and its process: a program that changed its root sees neither,
// but the latter; one in a pid namespace of its own the former.
bool IsToolGone(const char* path) {
  constexpr char kProc[] = "/proc/";
  char target[8];
  if (strncmp(path, kProc, sizeof(kProc) - 1) != 0 ||
      readlink(path, target, sizeof(target)) >= 0 || errno != ENOENT) {
    return false;
  }
  const int pid = atoi(path + sizeof(kProc) - 1);
  return pid > 0 && IsProcessGone(pid);
}

SpoolTag NewSpoolTag() {
  uint32_t random = 0;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0) {
    random = static_cast<uint32_t>(getpid());
  }
  SpoolTag tag;
  snprintf(tag.text, sizeof(tag.text), "%06x", random & 0xffffff);
  return tag;
}

Problem CreateSpool(const char* tag, bool is_quiet, SpoolFile* file) {
  if (CreateOnTmpfs(tag, file) || CreateOnDisk(tag, is_quiet, file)) return {};
  file->fd = UniqueFd(memfd_create("unspool", MFD_CLOEXEC));
  if (file->fd.is_valid() &&
      collectors::SpoolWriter::Create(file->fd.get(), Capacity()) ==
          collectors::SpoolStatus::kOk) {
    if (!is_quiet) {
      Say("no file for the recording in /dev/shm, XDG_RUNTIME_DIR, TMPDIR or "
          "/tmp: nothing is left of it if the program is killed");
    }
    return {};
  }
  file->fd.Reset();
  return MakeProblem(ENOSPC,
                     "no room for the recording in /dev/shm, XDG_RUNTIME_DIR, "
                     "TMPDIR, /tmp or memory; free some or raise ulimit -f");
}

}  // namespace unspool::profiler
