// Apart from the rest, which the agent links.

#include <lzma.h>

#include <algorithm>

#include "unwind/load/inflate.h"

namespace unspool::unwind {
namespace {

// xz's own presets need at most 65 MiB to decompress.
constexpr uint64_t kMaxXzMemory = uint64_t{128} << 20;
constexpr size_t kFirstXzRatio = 8;

}  // namespace

std::span<const uint8_t> InflateXz(std::span<const uint8_t> in, size_t max_size,
                                   OwnedBytes* out) {
  // Once more with twice the room until it suffices: simpler than the index at
  // the end of the file, and the last round is half of the work.
  size_t size = std::min(in.size() * kFirstXzRatio, max_size);
  while (out->Allocate(size)) {
    uint64_t memory = kMaxXzMemory;
    size_t in_position = 0;
    size_t out_position = 0;
    const lzma_ret result = lzma_stream_buffer_decode(
        &memory, 0, nullptr, in.data(), &in_position, in.size(),
        out->bytes().data(), &out_position, size);
    if (result == LZMA_OK) return out->bytes().first(out_position);
    if (result != LZMA_BUF_ERROR || size == max_size) break;
    size = std::min(size * 2, max_size);
  }
  return {};
}

}  // namespace unspool::unwind
