// A growing array of plain values, in memory straight from the kernel: the
// agent writes its profile at exit, and a program may call exit() in a handler
// that interrupted malloc(). Not for many small ones: each is a page at least.
// Async-signal-safe (Linux: mmap, mremap and munmap are plain system calls).

#ifndef UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_
#define UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace unspool::collectors {

template <typename T>
requires std::is_trivially_copyable_v<T>
class MappedArray {
 public:
  MappedArray() = default;
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;
  ~MappedArray() {
    if (data_ != nullptr) munmap(data_, capacity_ * sizeof(T));
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
  void Truncate(size_t size) { SetSize(size); }

  // Makes it `size` long; what is new is zero bytes: as the kernel gives them,
  // untouched, but where something was before. False: no memory.
  [[nodiscard]] bool Resize(size_t size) {
    if (size > capacity_ && !Grow(size)) return false;
    const size_t used_end = size < used_ ? size : used_;
    if (used_end > size_) {
      memset(static_cast<void*>(data_ + size_), 0,
             (used_end - size_) * sizeof(T));
    }
    SetSize(size);
    return true;
  }

  void Swap(MappedArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(used_, other.used_);
    std::swap(capacity_, other.capacity_);
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
  void SetSize(size_t size) {
    if (size_ > used_) used_ = size_;
    size_ = size;
  }

  bool Grow(size_t least) {
    constexpr size_t kFirst = (4096 + sizeof(T) - 1) / sizeof(T);
    size_t wanted = capacity_ == 0 ? kFirst : capacity_ * 2;
    if (wanted < least) wanted = least;
    if (wanted > SIZE_MAX / sizeof(T)) return false;
    void* grown = data_ == nullptr ? mmap(nullptr, wanted * sizeof(T),
                                          PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : mremap(data_, capacity_ * sizeof(T),
                                            wanted * sizeof(T), MREMAP_MAYMOVE);
    if (grown == MAP_FAILED) return false;
    data_ = static_cast<T*>(grown);
    capacity_ = wanted;
    return true;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t used_ = 0;  // what was ever behind size_ lies below this
  size_t capacity_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_MAPPED_ARRAY_H_
