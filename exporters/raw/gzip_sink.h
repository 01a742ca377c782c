// A sink that compresses: what is written comes out of the sink behind it as
// one gzip member (RFC 1952).

#ifndef UNSPOOL_EXPORTERS_RAW_GZIP_SINK_H_
#define UNSPOOL_EXPORTERS_RAW_GZIP_SINK_H_

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "collectors/spool/mapped_array.h"
#include "exporters/raw/raw_pprof.h"

namespace unspool::exporters::raw {

// Not async-signal-safe: the sink behind may not be.
class GzipSink {
 public:
  explicit GzipSink(ByteSink out) : out_(out) {}
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;
  ~GzipSink();

  // Must be called first. `expected_size` in bytes, about, of what will be
  // written; it costs memory, or compression, if it is wrong. False: no memory.
  [[nodiscard]] bool Start(uint64_t expected_size);
  // Writes the trailer. False: the sink behind said so.
  [[nodiscard]] bool Finish();

  // For data; false: the sink behind said so. Valid as long as this object.
  ByteSink sink() { return {&GzipSink::Write, this}; }

 private:
  static bool Write(void* self, const void* data, size_t size);
  bool Deflate(int flush);

  ByteSink out_;
  z_stream stream_{};
  bool is_started_ = false;
  // Not on the stack: the agent writes at exit on whatever thread exits.
  collectors::MappedArray<Bytef> buffer_;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_GZIP_SINK_H_
