#include "exporters/symbolizer/debug_file.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unwind/load/mapped_file.h"

namespace unspool::exporters {
namespace {

// .gnu_debuglink: a file name, NUL, padding to 4 bytes, the CRC-32 of the file.
struct DebugLink {
  std::string name;
  uint32_t crc = 0;
};

std::optional<DebugLink> ReadDebugLink(const unwind::ElfFile& elf) {
  const auto section = elf.FindSection(".gnu_debuglink");
  const auto contents = section ? elf.Contents(*section) : std::nullopt;
  if (!contents) return std::nullopt;
  const std::span<const uint8_t> bytes = contents->bytes;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const size_t length = strnlen(text, bytes.size());
  const size_t crc_offset = (length + 1 + 3) & ~size_t{3};
  DebugLink link;
  if (length == 0 || crc_offset + sizeof(link.crc) > bytes.size()) {
    return std::nullopt;
  }
  link.name.assign(text, length);
  // A name with a folder in it could point anywhere.
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  memcpy(&link.crc, bytes.data() + crc_offset, sizeof(link.crc));
  return link;
}

uint32_t Crc32(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

bool IsDebugFileOf(const std::string& candidate, const std::string& build_id,
                   const std::optional<DebugLink>& link) {
  unwind::MappedFile file;
  unwind::ElfFile elf;
  if (file.Open(candidate.c_str()) != 0 ||
      elf.Parse(file.bytes()) != unwind::ElfError::kNone) {
    return false;
  }
  if (!build_id.empty()) return BuildIdHex(elf) == build_id;
  return link.has_value() && Crc32(file.bytes()) == link->crc;
}

}  // namespace

std::string BuildIdHex(const unwind::ElfFile& elf) {
  constexpr char kDigits[] = "0123456789abcdef";
  const unwind::BuildId id = elf.FindBuildId();
  std::string hex;
  for (uint8_t byte : std::span(id.bytes).first(id.size)) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string FindDebugFile(const unwind::ElfFile& elf, const std::string& path,
                          std::string_view debug_root) {
  const std::string build_id = BuildIdHex(elf);
  const std::optional<DebugLink> link = ReadDebugLink(elf);
  const std::string root(debug_root);
  std::vector<std::string> candidates;
  if (build_id.size() > 2) {
    candidates.push_back(root + "/.build-id/" + build_id.substr(0, 2) + "/" +
                         build_id.substr(2) + ".debug");
  }
  if (link) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    candidates.push_back(folder + link->name);
    candidates.push_back(folder + ".debug/" + link->name);
    candidates.push_back(root + folder + link->name);
  }
  for (const std::string& candidate : candidates) {
    // A link may name the module itself.
    if (candidate != path && IsDebugFileOf(candidate, build_id, link)) {
      return candidate;
    }
  }
  return "";
}

}  // namespace unspool::exporters
