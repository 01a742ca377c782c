// Asks an ElfFile everything it can tell, and checks what must hold for any
// bytes whatever: answers lie within the file.

#ifndef UNSPOOL_TESTS_UNWIND_LOAD_EXERCISE_ELF_H_
#define UNSPOOL_TESTS_UNWIND_LOAD_EXERCISE_ELF_H_

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "unwind/load/debug_link.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/section_data.h"

namespace unspool::unwind {

inline constexpr uint64_t kMaxInflated = 1 << 20;

// Aborts if a range is outside of `bytes`; sanitizers see the rest.
inline void ExerciseElf(std::span<const uint8_t> bytes) {
  ElfFile elf;
  if (elf.Parse(bytes) != ElfError::kNone) {
    if (elf.program_header_count() + elf.section_count() != 0) abort();
    return;
  }
  const auto check = [bytes](const std::optional<ElfRange>& range) {
    if (!range || range->bytes.empty()) return;
    if (range->bytes.data() < bytes.data() ||
        range->bytes.data() + range->bytes.size() >
            bytes.data() + bytes.size()) {
      abort();
    }
  };
  for (size_t i = 0; i < elf.program_header_count(); ++i) {
    const Elf64_Phdr header = elf.ProgramHeader(i);
    check(elf.Contents(header));
    check(elf.LoadedFrom(header.p_vaddr));
    check(elf.LoadedFrom(header.p_vaddr + header.p_filesz - 1));
  }
  for (size_t i = 0; i < elf.section_count(); ++i) {
    check(elf.Contents(elf.Section(i)));
    SectionData data;
    if (data.Load(elf, elf.Section(i), kMaxInflated) == SectionError::kNone &&
        data.is_inflated() && data.bytes().size() > kMaxInflated) {
      abort();
    }
  }
  check(elf.EhFrameHdr());
  check(elf.EhFrame());
  check(elf.LoadedFrom(elf.entry()));
  ReadDebugLink(elf);
  ReadDebugAltLink(elf);
  if (elf.FindBuildId().size > BuildId::kMaxSize) abort();
  std::array<Segment, 2> segments;
  if (elf.ExecutableSegments(segments) > elf.program_header_count()) abort();
  for (const Segment& segment : segments) {
    if (segment.end < segment.start) abort();
  }
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_LOAD_EXERCISE_ELF_H_
