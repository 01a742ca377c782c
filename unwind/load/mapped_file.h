// A whole file mapped read-only, unmapped at the end of its owner's life.

#ifndef UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_
#define UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::unwind {

// The bytes are the file's, not a copy: if someone writes to the file they
// change under the reader (so read a value once, then check it), and if someone
// truncates it, touching what is gone raises SIGBUS. Package managers replace
// files by rename, which does neither. For the tool's use, not for use inside a
// stranger's process.
class MappedFile {
 public:
  constexpr MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Maps the regular file at `path`, in place of what was mapped before; an
  // empty file gives empty bytes. Returns 0 or an errno: that of open, fstat or
  // mmap, EISDIR for a directory, EINVAL for other files that are not regular
  // (never blocks on a fifo); then bytes() is empty.
  // Not async-signal-safe: maps memory.
  [[nodiscard]] int Open(const char* path);

  // Valid until the next Open() or the end of this object's life.
  // Async-signal-safe.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  void Close();

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_
