#include "exporters/raw/gzip_sink.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace unspool::exporters::raw {

namespace {

// The agent compresses while the program waits to end, and pprof data shrinks
// well at any level.
constexpr int kLevel = Z_BEST_SPEED;
constexpr int kGzipHeader = 16;  // zlib.h: is added to the window's bits
constexpr int kLeastWindowBits = 10;
constexpr size_t kBufferSize = 32768;
constexpr size_t kMostAtOnce = 1 << 30;  // avail_in is a uInt

// zlib's memory, five pieces per stream, as MappedArray's: the size is kept in
// front, where it does not cost the alignment.
constexpr size_t kSizeRoom = 16;

voidpf Allocate(voidpf, uInt items, uInt size) {
  const size_t bytes = size_t{items} * size + kSizeRoom;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Z_NULL;
  memcpy(memory, &bytes, sizeof(bytes));
  return static_cast<char*>(memory) + kSizeRoom;
}

void Free(voidpf, voidpf address) {
  char* memory = static_cast<char*>(address) - kSizeRoom;
  size_t bytes;
  memcpy(&bytes, memory, sizeof(bytes));
  munmap(memory, bytes);
}

}  // namespace

GzipSink::~GzipSink() {
  if (is_started_) deflateEnd(&stream_);
}

// A window as large as the data finds as much as a larger one. zlib clears
// windows and tables of 128 KiB for the largest: more pages than all else that
// the end of a short process touches.
bool GzipSink::Start(uint64_t expected_size) {
  const int window_bits =
      std::clamp(static_cast<int>(std::bit_width(expected_size)),
                 kLeastWindowBits, MAX_WBITS);
  const int memory_level = window_bits - (MAX_WBITS - 8);  // 8: zlib's default
  if (!buffer_.Resize(kBufferSize)) return false;
  stream_.zalloc = &Allocate;
  stream_.zfree = &Free;
  is_started_ =
      deflateInit2(&stream_, kLevel, Z_DEFLATED, window_bits + kGzipHeader,
                   memory_level, Z_DEFAULT_STRATEGY) == Z_OK;
  return is_started_;
}

bool GzipSink::Finish() { return Deflate(Z_FINISH); }

bool GzipSink::Write(void* self, const void* data, size_t size) {
  auto* sink = static_cast<GzipSink*>(self);
  auto* bytes = static_cast<const Bytef*>(data);
  while (size > 0) {
    const size_t part = std::min(size, kMostAtOnce);
    sink->stream_.next_in = const_cast<Bytef*>(bytes);
    sink->stream_.avail_in = static_cast<uInt>(part);
    if (!sink->Deflate(Z_NO_FLUSH)) return false;
    bytes += part;
    size -= part;
  }
  return true;
}

// Until all input is taken; with Z_FINISH, until the stream ended.
bool GzipSink::Deflate(int flush) {
  do {
    stream_.next_out = buffer_.data();
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    deflate(&stream_, flush);
    const size_t size = buffer_.size() - stream_.avail_out;
    if (size > 0 && !out_.write(out_.context, buffer_.data(), size)) {
      return false;
    }
  } while (stream_.avail_out == 0);
  return true;
}

}  // namespace unspool::exporters::raw
