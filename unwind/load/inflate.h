// Decompression of what ELF files hold: zlib, zstd (gABI, ELFCOMPRESS_*) and xz
// (.gnu_debugdata). Hostile input costs time in proportion to what it may
// write, never memory beyond that.

#ifndef UNSPOOL_UNWIND_LOAD_INFLATE_H_
#define UNSPOOL_UNWIND_LOAD_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/load/owned_bytes.h"

namespace unspool::unwind {

// Fill `out` from a zlib stream or from zstd frames. False if the stream is
// damaged, or holds less or more than out.size() bytes; then the contents of
// `out` are unspecified.
// Thread-safe. Not async-signal-safe: allocates.
[[nodiscard]] bool InflateZlib(std::span<const uint8_t> in,
                               std::span<uint8_t> out);
[[nodiscard]] bool InflateZstd(std::span<const uint8_t> in,
                               std::span<uint8_t> out);

// Decompresses an .xz file into `out` and returns what it holds, which lies
// there. Empty if it is damaged or holds nothing, or more than `max_size`
// bytes. Thread-safe. Not async-signal-safe: allocates.
[[nodiscard]] std::span<const uint8_t> InflateXz(std::span<const uint8_t> in,
                                                 size_t max_size,
                                                 OwnedBytes* out);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_INFLATE_H_
