#include "exporters/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <string>

#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib: + 16 means gzip framing
// Profiles are written once and read a few times; level 6 takes twice the time
// for 5 % fewer bytes.
constexpr int kCompressionLevel = 4;
constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr size_t kMaxAvail = size_t{1} << 30;  // avail_in is 32 bits wide

// Owns a stream that inflateInit2 has set up.
class Inflater {
 public:
  Inflater() { ok_ = inflateInit2(&stream_, kGzipWindowBits) == Z_OK; }
  ~Inflater() {
    if (ok_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ok() const { return ok_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_ = {};
  bool ok_ = false;
};

// Inflates one member from the front of *data, and adds its size to *size.
// Appends to *out, unless that is null. `chunk` is room to work in.
absl::Status InflateMember(size_t max_bytes, std::string& chunk,
                           std::string_view* data, size_t* size,
                           std::string* out) {
  Inflater inflater;
  if (!inflater.ok()) return absl::ResourceExhaustedError("out of memory");
  z_stream& stream = inflater.stream();
  for (;;) {
    const size_t in = std::min(data->size(), kMaxAvail);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data->data()));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    data->remove_prefix(in - stream.avail_in);
    const size_t got = chunk.size() - stream.avail_out;
    *size += got;
    if (*size > max_bytes) {
      return absl::InvalidArgumentError("too large when decompressed");
    }
    if (out != nullptr) out->append(chunk, 0, got);
    if (result == Z_STREAM_END) return absl::OkStatus();
    if (result == Z_BUF_ERROR ||
        (result == Z_OK && data->empty() && stream.avail_out != 0)) {
      return absl::InvalidArgumentError("truncated");
    }
    if (result != Z_OK) {
      return absl::InvalidArgumentError("corrupt gzip data");
    }
  }
}

absl::Status Inflate(std::string_view data, size_t max_bytes, size_t* size,
                     std::string* out) {
  std::string chunk(kChunkBytes, '\0');
  do {
    absl::Status status = InflateMember(max_bytes, chunk, &data, size, out);
    if (!status.ok()) return status;
  } while (!data.empty());
  return absl::OkStatus();
}

}  // namespace

bool IsGzip(std::string_view data) { return data.starts_with("\x1f\x8b"); }

// Twice: what is too large, or not whole, takes no memory, and the rest no more
// than it needs.
absl::StatusOr<std::string> Gunzip(std::string_view data, size_t max_bytes) {
  size_t size = 0;
  absl::Status status = Inflate(data, max_bytes, &size, nullptr);
  if (!status.ok()) return status;
  std::string out;
  out.reserve(size);
  size = 0;
  status = Inflate(data, max_bytes, &size, &out);
  if (!status.ok()) return status;
  return out;
}

std::string Gzip(std::string_view data) {
  z_stream stream = {};
  std::string out;
  if (deflateInit2(&stream, kCompressionLevel, Z_DEFLATED, kGzipWindowBits,
                   MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();  // what any container does here
  }
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const size_t in = std::min(data.size(), kMaxAvail);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
      stream.avail_in = static_cast<uInt>(in);
      data.remove_prefix(in);
    }
    const size_t old_size = out.size();
    out.resize(old_size + kChunkBytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + old_size);
    stream.avail_out = static_cast<uInt>(kChunkBytes);
    result = deflate(&stream, data.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(old_size + kChunkBytes - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace unspool::exporters
