#include "unwind/load/debug_link.h"

#include <zlib.h>

#include <cstddef>
#include <cstring>

namespace unspool::unwind {
namespace {

// The bytes of a section that begins with a NUL-terminated, non-empty name.
struct NamedBytes {
  std::string_view name;
  std::span<const uint8_t> bytes;
};

std::optional<NamedBytes> ReadNamed(const ElfFile& elf, const char* section) {
  const auto header = elf.FindSection(section);
  const auto contents = header ? elf.Contents(*header) : std::nullopt;
  if (!contents) return std::nullopt;
  const std::span<const uint8_t> bytes = contents->bytes;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const size_t length = strnlen(text, bytes.size());
  if (length == 0 || length == bytes.size()) return std::nullopt;
  return NamedBytes{std::string_view(text, length), bytes};
}

}  // namespace

// The name, NUL, zeros up to a multiple of 4, the checksum.
std::optional<DebugLink> ReadDebugLink(const ElfFile& elf) {
  const auto section = ReadNamed(elf, ".gnu_debuglink");
  if (!section || section->name.find('/') != std::string_view::npos) {
    return std::nullopt;
  }
  DebugLink link = {.name = section->name};
  const size_t crc_offset = (link.name.size() + 1 + 3) & ~size_t{3};
  if (crc_offset + sizeof(link.crc) > section->bytes.size()) {
    return std::nullopt;
  }
  memcpy(&link.crc, section->bytes.data() + crc_offset, sizeof(link.crc));
  return link;
}

// The path, NUL, the build id.
std::optional<DebugAltLink> ReadDebugAltLink(const ElfFile& elf) {
  const auto section = ReadNamed(elf, ".gnu_debugaltlink");
  if (!section) return std::nullopt;
  DebugAltLink link = {.path = section->name, .build_id = {}};
  const auto id = section->bytes.subspan(link.path.size() + 1);
  if (id.empty() || id.size() > BuildId::kMaxSize) return std::nullopt;
  link.build_id.size = static_cast<uint8_t>(id.size());
  memcpy(link.build_id.bytes.data(), id.data(), id.size());
  return link;
}

uint32_t DebugLinkCrc(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

BuildIdText ToText(const BuildId& build_id) {
  constexpr char kDigits[] = "0123456789abcdef";
  BuildIdText hex = {};
  for (size_t i = 0; i < build_id.size; ++i) {
    hex.text[2 * i] = kDigits[build_id.bytes[i] >> 4];
    hex.text[2 * i + 1] = kDigits[build_id.bytes[i] & 15];
  }
  return hex;
}

}  // namespace unspool::unwind
