// A growing array of plain values. Few of them lie in the array itself, more in
// memory straight from the kernel: the agent writes its profile at exit, and a
// program may call exit() in a handler that interrupted malloc(). Most arrays
// of a short program's profile are so small that a page and two system calls
// for each would be half of the time that the profile takes.
// Async-signal-safe (Linux: mmap, mremap and munmap are plain system calls).

#ifndef UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_
#define UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace unspool::collectors {

template <typename T>
requires std::is_trivially_copyable_v<T>
class MappedArray {
 public:
  MappedArray() = default;
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray() {
    if (is_mapped()) munmap(data_, capacity_ * sizeof(T));
  }

  // False: no memory; the array is as before.
  [[nodiscard]] bool Append(const T& value) {
    if (size_ == capacity_ && !Grow(size_ + 1)) return false;
    data_[size_++] = value;
    return true;
  }

  // As Append, for all of `values`, which are not its own.
  [[nodiscard]] bool AppendAll(std::span<const T> values) {
    const size_t size = size_ + values.size();
    if (size > capacity_ && !Grow(size)) return false;
    if (!values.empty()) {
      memcpy(static_cast<void*>(data_ + size_), values.data(),
             values.size_bytes());
    }
    size_ = size;
    return true;
  }

  // Makes it `size` long, which must not be longer than it is.
  void Truncate(size_t size) {
    if (size_ > used_) used_ = size_;
    size_ = size;
  }

  // Makes it `size` long; what is new is zero bytes, and no page of it that has
  // not been used is touched. False: no memory.
  [[nodiscard]] bool Resize(size_t size) {
    if (size > capacity_ && !Grow(size)) return false;
    const size_t used = size < used_ ? size : used_;
    if (used > size_) {
      memset(static_cast<void*>(data_ + size_), 0, (used - size_) * sizeof(T));
    }
    if (size < size_) Truncate(size);
    size_ = size;
    return true;
  }

  T* data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<const T> view() const { return {data_, size_}; }

 private:
  static constexpr size_t kInlineBytes = 256;
  static constexpr size_t kInline = kInlineBytes / sizeof(T);

  bool is_mapped() const { return capacity_ > kInline; }

  bool Grow(size_t least) {
    constexpr size_t kFirst = (4096 + sizeof(T) - 1) / sizeof(T);
    size_t wanted = capacity_ * 2 < kFirst ? kFirst : capacity_ * 2;
    if (wanted < least) wanted = least;
    if (wanted > SIZE_MAX / sizeof(T)) return false;
    void* grown =
        is_mapped() ? mremap(data_, capacity_ * sizeof(T), wanted * sizeof(T),
                             MREMAP_MAYMOVE)
                    : mmap(nullptr, wanted * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED) return false;
    if (!is_mapped()) {
      memcpy(grown, inline_, size_ * sizeof(T));
      used_ = 0;
    }
    data_ = static_cast<T*>(grown);
    capacity_ = wanted;
    return true;
  }

  T* data_ = reinterpret_cast<T*>(inline_);
  size_t size_ = 0;
  size_t capacity_ = kInline;
  size_t used_ = kInline;  // what is behind it and size_, is zero
  alignas(T) unsigned char inline_[kInlineBytes];
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_
