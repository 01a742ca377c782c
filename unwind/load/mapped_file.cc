#include "unwind/load/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace unspool::unwind {
namespace {

class ScopedFd {
 public:
  explicit ScopedFd(int fd) : fd_(fd) {}
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;
  ~ScopedFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr int kLookFlags = O_PATH | O_CLOEXEC;
// EAGAIN: somebody renamed a folder on the way just then.
constexpr int kMaxOpenTries = 8;

int OpenIn(const char* path, const char* root, int flags) {
  if (*root == '\0') return open(path, flags);
  const ScopedFd folder(open(root, kLookFlags | O_DIRECTORY));
  if (folder.get() < 0) return -1;
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT;
  long fd = -1;
  for (int i = 0; i < kMaxOpenTries; ++i) {
    fd = syscall(SYS_openat2, folder.get(), path, &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return static_cast<int>(fd);
}

// What the kernel calls an open file; its length, 0 on failure or if it does
// not fit with a NUL.
size_t NameOf(int fd, std::span<char> out) {
  char link[32];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, out.data(), out.size());
  if (length <= 0 || static_cast<size_t>(length) >= out.size()) return 0;
  out[static_cast<size_t>(length)] = '\0';
  return static_cast<size_t>(length);
}

}  // namespace

MappedFile::~MappedFile() { Close(); }

void MappedFile::Close() {
  if (size_ > 0) munmap(const_cast<uint8_t*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
  id_ = {};
}

int MappedFile::Open(const char* path, const char* root) {
  Close();
  const ScopedFd fd(OpenIn(path, root, kOpenFlags));
  if (fd.get() < 0) return errno;
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  id_ = {.device = status.st_dev, .inode = status.st_ino};
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return 0;
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return errno;
  data_ = static_cast<const uint8_t*>(data);
  size_ = size;
  return 0;
}

int OpenBelow(const char* path, const char* root) {
  return OpenIn(path, root, kOpenFlags);
}

bool ResolvePath(const char* path, const char* root, std::span<char> out) {
  const ScopedFd fd(OpenIn(path, root, kLookFlags));
  if (fd.get() < 0 || NameOf(fd.get(), out) == 0) return false;
  if (*root == '\0') return true;
  // A folder of this mount namespace (chroot) is part of the names in it; the
  // root of another namespace is "/".
  char prefix[PATH_MAX];
  const ScopedFd folder(open(root, kLookFlags | O_DIRECTORY));
  const size_t size = folder.get() < 0 ? 0 : NameOf(folder.get(), prefix);
  if (size > 1 && strncmp(out.data(), prefix, size) == 0 && out[size] == '/') {
    memmove(out.data(), out.data() + size, strlen(out.data() + size) + 1);
  }
  return size != 0;
}

}  // namespace unspool::unwind
