#include "exporters/raw/proto_message.h"

namespace unspool::exporters::raw {

namespace {

constexpr uint32_t kWireVarint = 0;
constexpr uint32_t kWireBytes = 2;

}  // namespace

void ProtoMessage::AddVarint(uint32_t field, uint64_t value) {
  AppendTag(field, kWireVarint);
  AppendVarint(value);
}

void ProtoMessage::AddBytes(uint32_t field, std::span<const char> bytes) {
  AppendTag(field, kWireBytes);
  AppendVarint(bytes.size());
  AppendRaw({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

void ProtoMessage::AddMessage(uint32_t field, const ProtoMessage& message) {
  ok_ = ok_ && message.ok_;
  AppendTag(field, kWireBytes);
  AppendVarint(message.bytes_.size());
  AppendRaw(message.bytes());
}

void ProtoMessage::AddPacked(uint32_t field, std::span<const uint64_t> values) {
  size_t size = 0;
  for (const uint64_t value : values) size += VarintSize(value);
  AppendTag(field, kWireBytes);
  AppendVarint(size);
  for (const uint64_t value : values) AppendVarint(value);
}

void ProtoMessage::Append(const ProtoMessage& other) {
  ok_ = ok_ && other.ok_;
  AppendRaw(other.bytes());
}

void ProtoMessage::AppendVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    ok_ = ok_ && bytes_.Append(static_cast<uint8_t>(value) | 0x80);
  }
  ok_ = ok_ && bytes_.Append(static_cast<uint8_t>(value));
}

void ProtoMessage::AppendTag(uint32_t field, uint32_t wire_type) {
  AppendVarint(field << 3 | wire_type);
}

void ProtoMessage::AppendRaw(std::span<const uint8_t> bytes) {
  ok_ = ok_ && bytes_.AppendAll(bytes);
}

}  // namespace unspool::exporters::raw
