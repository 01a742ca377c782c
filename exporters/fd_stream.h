// A std::ostream over a file descriptor, for output that is larger than memory
// should hold.

#ifndef UNSPOOL_EXPORTERS_FD_STREAM_H_
#define UNSPOOL_EXPORTERS_FD_STREAM_H_

#include <ostream>
#include <streambuf>
#include <vector>

namespace unspool::exporters {

class FdStream : public std::ostream {
 public:
  // Does not own `fd`.
  // Not async-signal-safe: allocates.
  explicit FdStream(int fd) : std::ostream(nullptr), buffer_(fd) {
    rdbuf(&buffer_);
  }

  // Writes what is buffered. 0, or the errno of the first write(2) that failed,
  // now or before; after that nothing is written.
  int Finish() {
    flush();
    return buffer_.error();
  }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(int fd);
    int error() const { return error_; }

   protected:
    int_type overflow(int_type c) override;
    int sync() override;

   private:
    const int fd_;
    int error_ = 0;
    std::vector<char> bytes_;
  };

  Buffer buffer_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FD_STREAM_H_
