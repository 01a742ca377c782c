// Writes protocol buffer messages, field by field (encoding:
// protobuf.dev/programming-guides/encoding). What pprof needs: varints,
// strings, nested messages, packed varints.

#ifndef UNSPOOL_EXPORTERS_RAW_PROTO_MESSAGE_H_
#define UNSPOOL_EXPORTERS_RAW_PROTO_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/varint.h"

namespace unspool::exporters::raw {

using collectors::EncodeVarint;
using collectors::VarintSize;

// The fields of one message, encoded. Running out of memory is remembered, not
// returned: ask ok() before using bytes().
// Not async-signal-safe: allocates.
class ProtoMessage {
 public:
  void Clear() { bytes_.Truncate(0); }

  // Each adds one field. Zero is written too: in a repeated field it counts.
  void AddVarint(uint32_t field, uint64_t value);
  void AddBytes(uint32_t field, std::span<const char> bytes);
  void AddMessage(uint32_t field, const ProtoMessage& message);
  void AddPacked(uint32_t field, std::span<const uint64_t> values);

  // Adds all fields of `other`.
  void Append(const ProtoMessage& other);

  bool ok() const { return ok_; }
  std::span<const uint8_t> bytes() const { return bytes_.view(); }

 private:
  void AppendVarint(uint64_t value);
  void AppendTag(uint32_t field, uint32_t wire_type);
  void AppendRaw(std::span<const uint8_t> bytes);

  collectors::MappedArray<uint8_t> bytes_;
  bool ok_ = true;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_PROTO_MESSAGE_H_
