// What an ELF file says of the files that hold the rest of its debug data:
// .gnu_debuglink (GDB manual, "Debugging Information in Separate Files") and
// .gnu_debugaltlink (what dwz moved to a file that several modules share).

#ifndef UNSPOOL_UNWIND_LOAD_DEBUG_LINK_H_
#define UNSPOOL_UNWIND_LOAD_DEBUG_LINK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "unwind/load/elf_file.h"
#include "unwind/module.h"

namespace unspool::unwind {

struct DebugLink {
  std::string_view name;  // without a folder; a view into the file
  uint32_t crc = 0;       // of the whole file that is meant
};

struct DebugAltLink {
  std::string_view path;  // absolute, or from the file's own folder
  BuildId build_id;
};

// nullopt if the file has none, or a malformed one; a link whose name has a
// folder in it is malformed. Async-signal-safe.
std::optional<DebugLink> ReadDebugLink(const ElfFile& elf);
std::optional<DebugAltLink> ReadDebugAltLink(const ElfFile& elf);

// The checksum that .gnu_debuglink means: CRC-32 as zlib has it.
// Async-signal-safe.
uint32_t DebugLinkCrc(std::span<const uint8_t> bytes);

// Lower-case hex and a NUL; "" for a build id without bytes.
struct BuildIdText {
  char text[2 * BuildId::kMaxSize + 1];
};
// Async-signal-safe.
BuildIdText ToText(const BuildId& build_id);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_DEBUG_LINK_H_
