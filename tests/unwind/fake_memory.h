// A stack that is a few numbers in an array.

#ifndef UNSPOOL_TESTS_UNWIND_FAKE_MEMORY_H_
#define UNSPOOL_TESTS_UNWIND_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace unspool::unwind {

// A MemoryReader over bytes that were put there; all else is unreadable.
class FakeMemory {
 public:
  void PutWord(uint64_t address, uint64_t value) {
    for (size_t i = 0; i < sizeof(value); ++i) {
      bytes_[address + i] = static_cast<uint8_t>(value >> (8 * i));
    }
  }
  void PutBytes(uint64_t address, std::span<const uint8_t> bytes) {
    for (const uint8_t byte : bytes) bytes_[address++] = byte;
  }

  bool Read(uint64_t address, size_t size, uint64_t* value) {
    ++reads_;
    *value = 0;
    for (size_t i = 0; i < size; ++i) {
      const auto byte = bytes_.find(address + i);
      if (byte == bytes_.end()) return false;
      *value |= uint64_t{byte->second} << (8 * i);
    }
    return true;
  }

  size_t reads() const { return reads_; }

 private:
  std::map<uint64_t, uint8_t> bytes_;
  size_t reads_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_FAKE_MEMORY_H_
