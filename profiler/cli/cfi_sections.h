// The call-frame information of an ELF file, ready to be read: .eh_frame and
// .debug_frame, decompressed, and in an object file relocated.

#ifndef UNSPOOL_PROFILER_CLI_CFI_SECTIONS_H_
#define UNSPOOL_PROFILER_CLI_CFI_SECTIONS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "unwind/cfi_entry.h"
#include "unwind/load/elf_file.h"

namespace unspool::profiler {

struct CfiContents {
  std::string name;  // as the file has it, ".zdebug_frame" included
  unwind::CfiSection section;
  std::span<const uint8_t> bytes;  // at section.address
  // The file does not tell how long the section is (it has no section headers):
  // its terminator ends it.
  bool ends_at_terminator = false;
  bool is_relocated = false;  // an object file's: every section is at address 0
  // Why there are no bytes, as the tail of "<name> …"; empty if there are.
  std::string error;
};

// Calls visit() for each such section of `elf` that has bytes, in the order of
// the section headers; without any, for .eh_frame by way of .eh_frame_hdr. What
// it gets is valid during the call: one section is in memory at a time.
// Not async-signal-safe: allocates.
void ForEachCfiSection(const unwind::ElfFile& elf,
                       const std::function<void(const CfiContents&)>& visit);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_CFI_SECTIONS_H_
