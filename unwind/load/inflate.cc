#include "unwind/load/inflate.h"

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

}  // namespace unspool::unwind
