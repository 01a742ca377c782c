// Where the bytes of unwind data come from: mapped memory, a copy of it, a
// file, another process.

#ifndef UNSPOOL_UNWIND_BYTE_SOURCE_H_
#define UNSPOOL_UNWIND_BYTE_SOURCE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::unwind {

// Window(address, size) gives the bytes from `address` on: `size` of them, or
// fewer where the readable range or the source's buffer ends, none where
// nothing can be read. A call ends the life of the window before it: parsers
// hold one window at a time and keep addresses, not pointers.
template <class T>
concept ByteSource = requires(T source, uint64_t address, size_t size) {
  { source.Window(address, size) } -> std::same_as<std::span<const uint8_t>>;
};

// The smallest buffer that a copying source may have: parsers ask again for the
// rest of what is longer, at boundaries that are closer together than this.
inline constexpr size_t kMinWindowSize = 1024;

// Sources whose windows cost nothing and whose bytes stay as they are as long
// as the process lives: what was parsed may be kept. True for MappedSource.
template <class Source>
inline constexpr bool kIsPinned = false;

// Bytes that are in memory as a whole, said to be at `address`: a section read
// from a file, or one that is mapped and stays so.
class SpanSource {
 public:
  constexpr SpanSource(std::span<const uint8_t> bytes, uint64_t address)
      : bytes_(bytes), address_(address) {}

  // Async-signal-safe.
  std::span<const uint8_t> Window(uint64_t address, size_t size) const {
    const uint64_t offset = address - address_;
    if (offset >= bytes_.size()) return {};
    const size_t left = bytes_.size() - offset;
    return bytes_.subspan(offset, size < left ? size : left);
  }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t address_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_BYTE_SOURCE_H_
