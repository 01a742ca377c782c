#include "unwind/own_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace unspool::unwind {
namespace {

class OwnedFd {
 public:
  explicit OwnedFd(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~OwnedFd() {
    if (fd_ >= 0) close(fd_);
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

// Reads a file line by line into a buffer that a line must fit into; longer
// lines are cut.
class LineReader {
 public:
  explicit LineReader(const char* path) : fd_(path) {}

  // False at the end. `line` gets no newline, but a NUL.
  bool Next(PathBuffer& line) {
    size_t length = 0;
    char c = 0;
    while (NextChar(&c) && c != '\n') {
      if (length + 1 < sizeof(line)) line[length++] = c;
    }
    line[length] = '\0';
    return length > 0 || c == '\n';
  }

 private:
  bool NextChar(char* c) {
    if (used_ == size_) {
      used_ = 0;
      const ssize_t got = read(fd_.get(), buffer_, sizeof(buffer_));
      size_ = got > 0 ? static_cast<size_t>(got) : 0;
      if (size_ == 0) return false;
    }
    *c = buffer_[used_++];
    return true;
  }

  OwnedFd fd_;
  size_t used_ = 0;
  size_t size_ = 0;
  char buffer_[1024];
};

// Reads hexadecimal digits at *text and moves it behind them.
uint64_t ParseHex(const char** text) {
  uint64_t value = 0;
  for (;; ++*text) {
    const char c = **text;
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

// The kernel marks the path of a file without a name; one may be called so
// (proc(5), /proc/PID/maps).
void CutDeletedMark(PathBuffer& path) {
  constexpr char kMark[] = " (deleted)";
  const size_t size = std::strlen(path);
  const size_t mark_size = sizeof(kMark) - 1;
  if (size < mark_size) return;
  char* const mark = path + size - mark_size;
  if (std::strcmp(mark, kMark) == 0 && access(path, F_OK) != 0) *mark = '\0';
}

}  // namespace

bool FindMappedPath(uint64_t address, PathBuffer& path) {
  LineReader maps("/proc/self/maps");
  while (maps.Next(path)) {
    // start-end perms offset device inode   path
    const char* text = path;
    const uint64_t start = ParseHex(&text);
    if (*text++ != '-') continue;
    const uint64_t end = ParseHex(&text);
    if (address < start || address >= end) continue;
    const char* slash = std::strchr(text, '/');
    if (slash == nullptr) return false;
    // The device has no slash, so the first one begins the path.
    std::memmove(path, slash, std::strlen(slash) + 1);
    CutDeletedMark(path);
    return true;
  }
  return false;
}

}  // namespace unspool::unwind
