#include "profiler/agent/agent_note.h"

#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "unwind/load/elf_note.h"

extern "C" {
__attribute__((visibility("hidden"))) std::atomic<uint32_t> unspool_is_sampling{
    0};
}

asm(R"(
  .pushsection .note.unspool, "a", @note
  .balign 4
  .long 8, 8, 1
  .asciz "unspool"
0:
  .quad unspool_is_sampling - 0b
  .popsection
)");

namespace unspool::profiler {
namespace {

bool IsSampling(std::span<const uint8_t> description) {
  int64_t distance = 0;
  if (description.size() != sizeof(distance)) return false;
  std::memcpy(&distance, description.data(), sizeof(distance));
  const auto* word = reinterpret_cast<const std::atomic<uint32_t>*>(
      reinterpret_cast<uint64_t>(description.data()) +
      static_cast<uint64_t>(distance));
  return word != &unspool_is_sampling && word->load() != 0;
}

bool IsLoaded(const Elf64_Phdr& note, std::span<const Elf64_Phdr> headers) {
  for (const Elf64_Phdr& load : headers) {
    if (load.p_type == PT_LOAD && (load.p_flags & PF_R) != 0 &&
        note.p_vaddr - load.p_vaddr <= load.p_memsz &&
        note.p_memsz <= load.p_memsz - (note.p_vaddr - load.p_vaddr)) {
      return true;
    }
  }
  return false;
}

int LookAtModule(dl_phdr_info* module, size_t, void*) {
  const std::span headers(module->dlpi_phdr, module->dlpi_phnum);
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type != PT_NOTE || !IsLoaded(header, headers)) continue;
    const auto description = unwind::FindNote(
        {reinterpret_cast<const uint8_t*>(module->dlpi_addr + header.p_vaddr),
         header.p_memsz},
        header.p_align, unwind::kAgentNoteOwner, unwind::kAgentNoteType);
    if (description.has_value() && IsSampling(*description)) return 1;
  }
  return 0;
}

}  // namespace

void SetSampling(bool is_sampling) {
  unspool_is_sampling.store(is_sampling ? 1 : 0);
}

bool IsOtherCopySampling() {
  return dl_iterate_phdr(&LookAtModule, nullptr) != 0;
}

}  // namespace unspool::profiler
