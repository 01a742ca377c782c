// One compilation unit's DIE tree (DWARF 5 §3.1), walked once into tables:
// which function, and which inlined calls, an address is in, and which
// namespaces and classes a function is declared in.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_UNIT_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_UNIT_H_

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "exporters/symbolizer/interval_map.h"
#include "exporters/symbolizer/split_dwarf.h"
#include "exporters/symbolizer/symbol_table.h"

namespace unspool::exporters {

// An attribute of the DIE or of what it is an instance of; "" if it has none.
std::string_view StringAttribute(Dwarf_Die* die, unsigned name);

// Where a module has code. Linkers leave the functions that they discarded at
// addresses like 0, which are none.
struct CodeRange {
  uint64_t start = 0;
  uint64_t end = 0;

  bool Contains(uint64_t first, uint64_t last_end) const {
    return start <= first && first < last_end && last_end <= end;
  }
};

// Calls add(start, end) for each range of code that the DIE states itself.
template <typename Add>
void ForEachCodeRange(Dwarf_Die* die, const CodeRange& code, Add add) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
    if (code.Contains(start, end)) add(start, end);
  }
}

// Thread rule: one thread at a time.
class DwarfUnit {
 public:
  // A function, or a call that was inlined into one.
  struct Scope {
    Dwarf_Die die;
    uint32_t caller;  // index of the scope it is inlined into; kNoIndex: none
  };
  static constexpr uint32_t kNoIndex = 0xffffffff;

  explicit DwarfUnit(const Dwarf_Die& die) : die_(die) {}

  // The unit's own DIE, whose lines are those of the code.
  Dwarf_Die* die() { return &die_; }
  // The unit DIE above all functions, whose table of files they refer to: the
  // other half's if the unit is split. Precondition: walked.
  Dwarf_Die* tree() { return split_ == nullptr ? &die_ : split_->die(); }

  // Fills the tables; does nothing the second time. `split` finds the other
  // half of a split unit; without it there are no functions. Of functions with
  // the same code, which a linker found identical, one is kept: by `symbols`.
  // Not async-signal-safe: allocates.
  void Walk(const CodeRange& code, const SplitDwarf& split,
            const SymbolTable& symbols);

  bool is_walked() const { return is_walked_; }
  // Whether the walk found something that makes no sense, in the DIEs or in the
  // table of lines: the unit has what comes before it.
  bool is_damaged() const { return is_damaged_; }

  // The innermost scope at an address; kNoIndex if there is none.
  uint32_t FindScope(uint64_t address) const {
    const uint32_t* scope = scope_at_.Find(address);
    return scope == nullptr ? kNoIndex : *scope;
  }
  Scope& scope(uint32_t index) { return scopes_[index]; }

  // "outer::Inner::" for a function declared there that has no linkage name
  // which would say so; "" for others. `offset` is of its DIE.
  // Not async-signal-safe: allocates.
  std::string EnclosingNames(Dwarf_Off offset);

  // `file` with the folder of the compilation if it is told from there on:
  // libdw completes the names of some units only. The view lives as long as the
  // unit. Not async-signal-safe: allocates.
  std::string_view FullPath(std::string_view file);

 private:
  class Walker;

  // A namespace or class.
  struct Enclosing {
    Dwarf_Die die;
    uint32_t outer;  // index; kNoIndex: none
  };

  Dwarf_Die die_;
  std::unique_ptr<SplitUnit> split_;  // null: not split, or missing
  bool is_walked_ = false;
  bool is_damaged_ = false;
  std::vector<Scope> scopes_;
  IntervalMap<uint32_t> scope_at_;
  std::vector<Enclosing> enclosing_;
  absl::flat_hash_map<Dwarf_Off, uint32_t> enclosing_of_;  // functions
  absl::node_hash_map<std::string_view, std::string> full_paths_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DWARF_UNIT_H_
