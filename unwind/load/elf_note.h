// Notes of an ELF file or of a loaded module (gABI ch. 5, "Note Section").

#ifndef UNSPOOL_UNWIND_LOAD_ELF_NOTE_H_
#define UNSPOOL_UNWIND_LOAD_ELF_NOTE_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace unspool::unwind {

// The agent's note (profiler/agent/agent_note.h).
inline constexpr char kAgentNoteOwner[] = "unspool";
inline constexpr uint32_t kAgentNoteType = 1;

// The description of the first note of that owner and type. Each note is three
// words, then owner and description, each padded to `alignment` bytes. The
// bytes are hostile. Async-signal-safe.
inline std::optional<std::span<const uint8_t>> FindNote(
    std::span<const uint8_t> notes, uint64_t alignment, const char* owner,
    uint32_t type) {
  const uint64_t mask = alignment == 8 ? 7 : 3;
  const size_t owner_size = std::strlen(owner) + 1;
  uint64_t offset = 0;
  Elf64_Nhdr note;
  while (offset <= notes.size() && notes.size() - offset >= sizeof(note)) {
    std::memcpy(&note, notes.data() + offset, sizeof(note));
    const uint64_t name = offset + sizeof(note);
    const uint64_t description = (name + note.n_namesz + mask) & ~mask;
    const uint64_t end = description + note.n_descsz;
    if (end > notes.size()) break;
    if (note.n_type == type && note.n_namesz == owner_size &&
        std::memcmp(notes.data() + name, owner, owner_size) == 0) {
      return notes.subspan(description, note.n_descsz);
    }
    offset = (end + mask) & ~mask;
  }
  return std::nullopt;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_ELF_NOTE_H_
