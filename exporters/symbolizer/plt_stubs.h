// The stubs through which calls leave a module: .plt, .plt.sec and .plt.got
// (x86-64 psABI §5.2 and "IBT PLT"). No symbol names them; the GOT slot that a
// stub jumps through does, by its relocation, whatever the linker's layout.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_PLT_STUBS_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_PLT_STUBS_H_

#include <elf.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exporters/symbolizer/interval_map.h"
#include "unwind/load/elf_file.h"

namespace unspool::exporters {

// What a stub calls: a symbol, a view into the file; or, if that is "", what
// the resolver at `resolver` chooses (R_X86_64_IRELATIVE).
struct PltTarget {
  std::string_view symbol;
  uint64_t resolver = 0;
};

// Thread rule: const, so any number of threads may use one.
class PltStubs {
 public:
  // Reads the file's sections and relocations; it must outlive this object. A
  // damaged or unknown stub has no name, and neither has one of a file without
  // section headers. Not async-signal-safe: allocates.
  explicit PltStubs(const unwind::ElfFile& elf);

  // What the stub that covers an ELF virtual address calls; null if there is
  // none.
  const PltTarget* Find(uint64_t address) const {
    return targets_.Find(address);
  }

 private:
  using Slots = absl::flat_hash_map<uint64_t, PltTarget>;  // by address

  static void AddRelocations(const unwind::ElfFile& elf,
                             const Elf64_Shdr& section, Slots* slots);
  void AddStubs(const unwind::ElfRange& section, uint64_t stub_size,
                const Slots& slots, std::span<const uint64_t> lazy_slots);

  IntervalMap<PltTarget> targets_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_PLT_STUBS_H_
