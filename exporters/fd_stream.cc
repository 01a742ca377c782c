#include "exporters/fd_stream.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace unspool::exporters {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;

}  // namespace

FdStream::Buffer::Buffer(int fd) : fd_(fd), bytes_(kBufferBytes) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

FdStream::Buffer::int_type FdStream::Buffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    sputc(traits_type::to_char_type(c));
  }
  return traits_type::not_eof(c);
}

int FdStream::Buffer::sync() {
  const char* next = pbase();
  while (error_ == 0 && next < pptr()) {
    const ssize_t written =
        ::write(fd_, next, static_cast<size_t>(pptr() - next));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
    } else {
      next += written;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0 ? 0 : -1;
}

}  // namespace unspool::exporters
