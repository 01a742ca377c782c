// A hash that tells modules apart; it withstands no attack.

#ifndef UNSPOOL_UNWIND_HASH_BYTES_H_
#define UNSPOOL_UNWIND_HASH_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace unspool::unwind {

inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325;

// Goes on from `hash` with `bytes`: FNV-1a's idea, eight bytes at a time.
// Async-signal-safe.
inline uint64_t HashBytes(std::span<const uint8_t> bytes, uint64_t hash) {
  constexpr uint64_t kPrime = 0x100000001b3;
  size_t i = 0;
  for (; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], sizeof(word));
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 29;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ bytes[i]) * kPrime;
  return hash;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_HASH_BYTES_H_
