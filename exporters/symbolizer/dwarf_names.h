// Functions, inlined chains and lines of a module from its DWARF, through
// libdw.
//
// libdw's own address lookups need .debug_aranges, which clang does not write;
// so the units are indexed here by the ranges that their own DIEs state, and
// each unit that is asked for is walked once into a table of its functions and
// inlined calls (DWARF 5 §3.3.8).

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/symbolizer/interval_map.h"

namespace unspool::exporters {

// One function at an address; views point into the DwarfNames that gave it.
struct DwarfFrame {
  std::string_view linkage_name;  // "" if there is none, as in C
  std::string_view name;          // "" if only the line is known
  std::string_view file;
  int64_t line = 0;        // 0: unknown
  int64_t start_line = 0;  // where the function is declared
};

// Thread rule: one thread at a time (libdw fills caches).
class DwarfNames {
 public:
  // Opens the DWARF in the file at `path`. Code outside [code_start, code_end)
  // is ignored: linkers leave functions that they discarded at addresses like
  // 0. Returns null if there is no DWARF that can be read.
  // Not async-signal-safe: allocates.
  static std::unique_ptr<DwarfNames> Open(const std::string& path,
                                          uint64_t code_start,
                                          uint64_t code_end);
  ~DwarfNames();
  DwarfNames(const DwarfNames&) = delete;
  DwarfNames& operator=(const DwarfNames&) = delete;

  // The frames at `address` (an ELF virtual address), innermost first, in
  // *frames; the last one is the function that the code belongs to. Empty if
  // no unit covers the address; one frame without names if only its line is
  // known.
  // Not async-signal-safe: allocates.
  void Find(uint64_t address, std::vector<DwarfFrame>* frames);

 private:
  // A function, or a call that was inlined into one.
  struct Scope {
    Dwarf_Die die;
    uint32_t parent;  // index of the scope around it; kNoScope for functions
  };
  static constexpr uint32_t kNoScope = 0xffffffff;

  struct Unit {
    Dwarf_Die die;
    bool is_walked = false;
    std::vector<Scope> scopes;
    IntervalMap<uint32_t> scope_at;
  };

  DwarfNames(int fd, Elf* elf, Dwarf* dwarf, uint64_t code_start,
             uint64_t code_end)
      : fd_(fd),
        elf_(elf),
        dwarf_(dwarf),
        code_start_(code_start),
        code_end_(code_end) {}

  void IndexUnits();
  void Walk(Unit* unit);
  void WalkChildren(Unit* unit, Dwarf_Die* parent, uint32_t scope, int depth,
                    uint64_t* budget);
  bool IsCode(uint64_t start, uint64_t end) const {
    return start >= code_start_ && start < end && end <= code_end_;
  }
  template <typename Add>
  bool ForEachRange(Dwarf_Die* die, Add add) const;

  const int fd_;
  Elf* const elf_;
  Dwarf* const dwarf_;
  const uint64_t code_start_;
  const uint64_t code_end_;
  std::vector<Unit> units_;
  IntervalMap<uint32_t> unit_at_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_NAMES_H_
