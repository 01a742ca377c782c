// A whole file mapped read-only, unmapped at the end of its owner's life.

#ifndef UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_
#define UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::unwind {

struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

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
  // empty file gives empty bytes. With a `root` that folder is "/" for the path
  // and for symbolic links on its way (openat2(2), RESOLVE_IN_ROOT; Linux 5.6):
  // "/proc/PID/root" is what that process sees.
  // Returns 0 or an errno: that of open, fstat or mmap, EISDIR for a directory,
  // EINVAL for other files that are not regular (never blocks on a fifo); then
  // bytes() is empty.
  // Not async-signal-safe: maps memory.
  [[nodiscard]] int Open(const char* path, const char* root = "");

  // Valid until the next Open() or the end of this object's life.
  // Async-signal-safe.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }

  // Which file this is, whatever names it has. Async-signal-safe.
  FileId id() const { return id_; }

 private:
  void Close();

  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  FileId id_;
};

// Opens a file to be read, without blocking on a fifo; `root` as for
// MappedFile::Open. The descriptor, which is closed on exec, or -1 with errno
// set. Async-signal-safe.
[[nodiscard]] int OpenBelow(const char* path, const char* root);

// Where `path` leads to once symbolic links are followed, as seen below `root`
// (see Open), into `out` with a NUL. False if it leads nowhere or to a name
// that does not fit. Async-signal-safe.
[[nodiscard]] bool ResolvePath(const char* path, const char* root,
                               std::span<char> out);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_MAPPED_FILE_H_
