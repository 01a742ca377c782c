// Numbers of which most are small, seven bits a byte, the lowest first (DWARF 5
// §7.6 calls it ULEB128, protocol buffers varint); signed ones by zigzag.

#ifndef UNSPOOL_COLLECTORS_SPOOL_VARINT_H_
#define UNSPOOL_COLLECTORS_SPOOL_VARINT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace unspool::collectors {

inline constexpr size_t kMaxVarintSize = 10;

// Zero takes one byte. Async-signal-safe.
constexpr size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

// Writes VarintSize(value) bytes; gives their end. Async-signal-safe.
inline uint8_t* EncodeVarint(uint64_t value, uint8_t* out) {
  for (; value >= 0x80; value >>= 7) {
    *out++ = static_cast<uint8_t>(value) | 0x80;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Takes a number from the front of *bytes. False: it is cut off, or longer than
// kMaxVarintSize; then *bytes is as it was. Async-signal-safe.
inline bool DecodeVarint(std::span<const uint8_t>* bytes, uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes->size() && i < kMaxVarintSize; ++i) {
    const uint8_t byte = (*bytes)[i];
    result |= uint64_t{byte & 0x7fu} << (7 * i);
    if ((byte & 0x80) != 0) continue;
    *value = result;
    *bytes = bytes->subspan(i + 1);
    return true;
  }
  return false;
}

// 0, -1, 1, -2 … as 0, 1, 2, 3 …, for numbers modulo 2⁶⁴. Async-signal-safe.
constexpr uint64_t ToZigzag(uint64_t value) {
  return value << 1 ^ (0 - (value >> 63));
}
constexpr uint64_t FromZigzag(uint64_t value) {
  return value >> 1 ^ (0 - (value & 1));
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_VARINT_H_
