// Reads numbers out of a span of bytes that nobody vouches for.
//
// The error is sticky: a read past the end, or a number that does not fit,
// makes this and every later read return zero, so a parser checks ok() once
// at its end instead of after each field. Little-endian, as every architecture
// of ours.

#ifndef UNSPOOL_UNWIND_BYTE_READER_H_
#define UNSPOOL_UNWIND_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace unspool::unwind {

// All members are async-signal-safe.
class ByteReader {
 public:
  // `bytes` are those at `address`, and outlive the reader.
  constexpr ByteReader(std::span<const uint8_t> bytes, uint64_t address)
      : bytes_(bytes), address_(address) {}

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }

  // The address of the next byte.
  uint64_t address() const { return address_ + position_; }
  size_t remaining() const { return ok_ ? bytes_.size() - position_ : 0; }
  // Nothing left to read, also after an error.
  bool empty() const { return remaining() == 0; }

  uint8_t U8() { return Fixed<uint8_t>(); }
  uint16_t U16() { return Fixed<uint16_t>(); }
  uint32_t U32() { return Fixed<uint32_t>(); }
  uint64_t U64() { return Fixed<uint64_t>(); }
  // Sign-extended.
  int64_t S8() { return Fixed<int8_t>(); }
  int64_t S16() { return Fixed<int16_t>(); }
  int64_t S32() { return Fixed<int32_t>(); }
  int64_t S64() { return Fixed<int64_t>(); }

  // DWARF 5 §7.6. Fails if the value needs more than 64 bits; padding with
  // redundant bytes, as assemblers emit, is fine.
  uint64_t Uleb128() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < kMaxLebBits; shift += 7) {
      const uint8_t byte = U8();
      const uint64_t low = byte & 0x7f;
      if (shift >= 64 ? low != 0 : (low << shift) >> shift != low) break;
      if (shift < 64) value |= low << shift;
      if ((byte & 0x80) == 0) return ok_ ? value : 0;
    }
    Fail();
    return 0;
  }

  int64_t Sleb128() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < kMaxLebBits; shift += 7) {
      const uint8_t byte = U8();
      const uint64_t low = byte & 0x7f;
      const uint64_t sign = static_cast<int64_t>(value) < 0 ? 0x7f : 0;
      if (shift == 63 && low != 0 && low != 0x7f) break;
      if (shift > 63 && low != sign) break;
      if (shift < 64) value |= low << shift;
      if ((byte & 0x80) == 0) {
        if (shift + 7 < 64 && (byte & 0x40) != 0) value |= ~0ULL << (shift + 7);
        return ok_ ? static_cast<int64_t>(value) : 0;
      }
    }
    Fail();
    return 0;
  }

  // The next `size` bytes; empty on failure.
  std::span<const uint8_t> Bytes(uint64_t size) {
    if (size > remaining()) {
      Fail();
      return {};
    }
    const auto taken = bytes_.subspan(position_, size);
    position_ += size;
    return taken;
  }

  void Skip(uint64_t size) { Bytes(size); }

  // Moves forward or back by `delta`, as DW_OP_skip does; the end is a valid
  // place to be.
  void Jump(int64_t delta) {
    const int64_t target = static_cast<int64_t>(position_) + delta;
    if (!ok_ || target < 0 || target > static_cast<int64_t>(bytes_.size())) {
      Fail();
      return;
    }
    position_ = static_cast<size_t>(target);
  }

 private:
  static constexpr unsigned kMaxLebBits = 16 * 7;  // bounds the padding

  template <class T>
  T Fixed() {
    T value{};
    const auto bytes = Bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::span<const uint8_t> bytes_;
  uint64_t address_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_BYTE_READER_H_
