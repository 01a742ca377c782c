// Owns a file descriptor.

#ifndef UNSPOOL_PROFILER_AGENT_UNIQUE_FD_H_
#define UNSPOOL_PROFILER_AGENT_UNIQUE_FD_H_

#include <unistd.h>

namespace unspool::profiler {

// Async-signal-safe.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      Reset();
      fd_ = other.fd_;
      other.fd_ = -1;
    }
    return *this;
  }
  ~UniqueFd() { Reset(); }

  void Reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  bool is_valid() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_UNIQUE_FD_H_
