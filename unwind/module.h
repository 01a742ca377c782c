// A loaded ELF object as the unwinder and the recording see it.
//
// Plain data: who fills it (dl_iterate_phdr at start, a copy made in the
// handler, a file) does not matter to who reads it.

#ifndef UNSPOOL_UNWIND_MODULE_H_
#define UNSPOOL_UNWIND_MODULE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

// One executable PT_LOAD, as mapped: run-time addresses, and where in the file
// `start` comes from.
struct Segment {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
};

// NT_GNU_BUILD_ID; size 0 if there is none.
struct BuildId {
  static constexpr size_t kMaxSize = 32;
  uint8_t size = 0;
  std::array<uint8_t, kMaxSize> bytes{};
  bool operator==(const BuildId&) const = default;
};

struct Module {
  static constexpr size_t kMaxSegments = 8;

  uint64_t start = 0;  // the whole mapped range, [start, end)
  uint64_t end = 0;
  uint64_t bias = 0;          // run-time address minus ELF virtual address
  uint64_t entry = 0;         // run-time address of e_entry; 0 if there is none
  uint64_t eh_frame_hdr = 0;  // run-time address of PT_GNU_EH_FRAME; 0 if none
  uint64_t eh_frame_hdr_size = 0;
  // Threads and contexts start in libc, programs in the loader: RA undefined
  // there is a root.
  bool is_libc_or_loader = false;
  bool is_main = false;  // the program itself
  bool is_vdso = false;
  // No ELF object, but code that was registered (registered_code.h); `path` is
  // its name.
  bool is_registered = false;
  // Mapped for the life of the process: its CFI may be read by plain loads. Of
  // others, handlers read by copies.
  bool is_pinned = false;
  uint8_t segment_count = 0;
  std::array<Segment, kMaxSegments> segments{};
  BuildId build_id;
  const char* path = "";  // NUL-terminated; outlives the ModuleMap
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MODULE_H_
