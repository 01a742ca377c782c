// Memory for what was decompressed: pages from the kernel, touched only where
// something is written, so that a file that claims a large size costs no more
// than what it really holds.

#ifndef UNSPOOL_UNWIND_LOAD_OWNED_BYTES_H_
#define UNSPOOL_UNWIND_LOAD_OWNED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace unspool::unwind {

class OwnedBytes {
 public:
  constexpr OwnedBytes() = default;
  OwnedBytes(OwnedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  OwnedBytes& operator=(OwnedBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~OwnedBytes();

  // `size` zeroed bytes in place of what was there. False: no memory, and then
  // there are none. Not async-signal-safe: maps memory.
  [[nodiscard]] bool Allocate(size_t size);

  std::span<uint8_t> bytes() const { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_OWNED_BYTES_H_
