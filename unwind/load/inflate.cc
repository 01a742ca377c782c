#include "unwind/load/inflate.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

namespace unspool::unwind {
namespace {

// What zlib takes at once: it counts in 32 bits.
unsigned Chunk(size_t size) {
  return static_cast<unsigned>(
      std::min<size_t>(size, std::numeric_limits<unsigned>::max()));
}

// xz's own presets need at most 65 MiB to decompress.
constexpr uint64_t kMaxXzMemory = uint64_t{128} << 20;
constexpr size_t kFirstXzRatio = 8;

}  // namespace

bool InflateZlib(std::span<const uint8_t> in, std::span<uint8_t> out) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return false;
  int result = Z_OK;
  do {
    stream.next_in = const_cast<Bytef*>(in.data());
    stream.avail_in = Chunk(in.size());
    stream.next_out = out.data();
    stream.avail_out = Chunk(out.size());
    result = inflate(&stream, Z_NO_FLUSH);
    in = in.subspan(static_cast<size_t>(stream.next_in - in.data()));
    out = out.subspan(static_cast<size_t>(stream.next_out - out.data()));
  } while (result == Z_OK);
  inflateEnd(&stream);
  return result == Z_STREAM_END && out.empty();
}

bool InflateZstd(std::span<const uint8_t> in, std::span<uint8_t> out) {
  // An error is a number larger than any size.
  return ZSTD_decompress(out.data(), out.size(), in.data(), in.size()) ==
         out.size();
}

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
