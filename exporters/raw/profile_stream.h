// The profile message on its way out: fields are collected and handed to the
// sink in parts, so a profile of any size needs little memory.

#ifndef UNSPOOL_EXPORTERS_RAW_PROFILE_STREAM_H_
#define UNSPOOL_EXPORTERS_RAW_PROFILE_STREAM_H_

#include <cstdint>
#include <span>

#include "exporters/raw/proto_message.h"
#include "exporters/raw/raw_pprof.h"

namespace unspool::exporters::raw {

// After an error nothing more is written; status() says which was the first.
// Not async-signal-safe: allocates, and calls the sink.
class ProfileStream {
 public:
  explicit ProfileStream(ByteSink sink) : sink_(sink) {}

  // Each adds one field of the profile (pprof_fields.h).
  void AddVarint(uint32_t field, uint64_t value) {
    buffer_.AddVarint(field, value);
    FlushIfFull();
  }
  void AddBytes(uint32_t field, std::span<const char> bytes) {
    buffer_.AddBytes(field, bytes);
    FlushIfFull();
  }
  void AddMessage(uint32_t field, const ProtoMessage& message) {
    buffer_.AddMessage(field, message);
    FlushIfFull();
  }

  // Hands on what is left.
  void Flush();

  RawStatus status() const { return status_; }

 private:
  static constexpr size_t kFlushSize = 65536;

  void FlushIfFull() {
    if (buffer_.bytes().size() >= kFlushSize || !buffer_.ok()) Flush();
  }

  ByteSink sink_;
  ProtoMessage buffer_;
  RawStatus status_ = RawStatus::kOk;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_PROFILE_STREAM_H_
