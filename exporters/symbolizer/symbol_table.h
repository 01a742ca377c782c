// Function symbols of a module, from all its symbol tables: .symtab and .dynsym
// of the file and of its debug file.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_SYMBOL_TABLE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_SYMBOL_TABLE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exporters/symbolizer/interval_map.h"
#include "unwind/load/elf_file.h"

namespace unspool::exporters {

struct Symbol {
  uint64_t start = 0;  // ELF virtual addresses
  uint64_t end = 0;
  std::string_view name;  // mangled, without "@VERSION"
  uint8_t binding = 0;    // STB_*
  // Symbols of hand-written assembly often have no size; then `end` is only a
  // bound, the end of the section.
  bool has_size = false;
};

// The string at `offset` of a string table, up to its NUL; "" if there is none.
std::string_view StringAt(std::span<const uint8_t> strings, uint64_t offset);

// Filled by Add, sealed once, then const. Names point into the files' bytes,
// which must outlive it.
class SymbolTable {
 public:
  // Takes the function symbols of every symbol table in `elf`. Tables that do
  // not lie within the file are left out.
  // Not async-signal-safe: allocates.
  void Add(const unwind::ElfFile& elf);

  // Settles which of several names for the same range (aliases, or code that a
  // linker found identical) is used: global before weak before local, then the
  // shortest, then the first in the alphabet.
  // Not async-signal-safe: allocates.
  void Seal();

  // The innermost symbol with a size that covers `address`, else the one
  // without a size that may; null if there is none. Never a neighbour: a
  // symbol with a size ends where it says.
  const Symbol* Find(uint64_t address) const;

  // Whether `name` is one of the names of the range that `symbol` has.
  bool HasName(const Symbol& symbol, std::string_view name) const;

  // Whether `a` is rather used than `b`, of two names that the code at
  // `address` has elsewhere: as Seal has it; names that no symbol there has
  // come last.
  bool IsBetterName(uint64_t address, std::string_view a,
                    std::string_view b) const;

 private:
  uint64_t NextStart(uint32_t index) const;
  int RankOf(const Symbol& symbol, std::string_view name) const;
  void AddTable(const unwind::ElfFile& elf, const Elf64_Shdr& table);

  std::vector<Symbol> symbols_;  // of each range, the name that is used first
  IntervalMap<uint32_t> sized_;  // indices into symbols_
  IntervalMap<uint32_t> unsized_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_SYMBOL_TABLE_H_
