#include "exporters/symbolizer/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <tuple>

namespace unspool::exporters {
namespace {

constexpr int kNoRank = 3;

int BindingRank(uint8_t binding) {
  if (binding == STB_GLOBAL) return 0;
  return binding == STB_WEAK ? 1 : 2;
}

auto AliasOrder(const Symbol& symbol) {
  return std::tuple(symbol.start, symbol.has_size, symbol.end,
                    BindingRank(symbol.binding), symbol.name.size(),
                    symbol.name);
}

bool SameName(const Symbol& a, const Symbol& b) {
  return AliasOrder(a) == AliasOrder(b);
}

bool SameRange(const Symbol& a, const Symbol& b) {
  return a.start == b.start && a.end == b.end && a.has_size == b.has_size;
}

bool IsCode(const Elf64_Sym& symbol, const Elf64_Shdr& section) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  return (section.sh_flags & SHF_EXECINSTR) != 0 &&
         (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

}  // namespace

std::string_view StringAt(std::span<const uint8_t> strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings.data()) + offset;
  const size_t room = strings.size() - offset;
  const size_t size = strnlen(text, room);
  return size == room ? std::string_view() : std::string_view(text, size);
}

void SymbolTable::Add(const unwind::ElfFile& elf) {
  for (size_t i = 0; i < elf.section_count(); ++i) {
    const Elf64_Shdr section = elf.Section(i);
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
      AddTable(elf, section);
    }
  }
}

void SymbolTable::AddTable(const unwind::ElfFile& elf,
                           const Elf64_Shdr& table) {
  const auto entries = elf.Contents(table);
  const auto strings = elf.Contents(elf.Section(table.sh_link));
  if (!entries || !strings) return;
  const size_t count = entries->bytes.size() / sizeof(Elf64_Sym);
  for (size_t i = 0; i < count; ++i) {
    Elf64_Sym entry;
    memcpy(&entry, entries->bytes.data() + i * sizeof(entry), sizeof(entry));
    // In a debug file the section has no bytes, but its flags and addresses.
    if (entry.st_shndx == SHN_UNDEF || entry.st_shndx >= SHN_LORESERVE) {
      continue;
    }
    const Elf64_Shdr section = elf.Section(entry.st_shndx);
    const uint64_t section_end = section.sh_addr + section.sh_size;
    if (!IsCode(entry, section) || entry.st_value < section.sh_addr ||
        entry.st_value >= section_end) {
      continue;
    }
    std::string_view name = StringAt(strings->bytes, entry.st_name);
    name = name.substr(0, name.find('@'));
    if (name.empty() || name.starts_with(".L")) continue;
    const uint64_t room = section_end - entry.st_value;
    const bool has_size = entry.st_size != 0;
    symbols_.push_back({
        .start = entry.st_value,
        .end =
            entry.st_value + (has_size ? std::min(entry.st_size, room) : room),
        .name = name,
        .binding = static_cast<uint8_t>(ELF64_ST_BIND(entry.st_info)),
        .has_size = has_size,
    });
  }
}

void SymbolTable::Seal() {
  std::ranges::sort(symbols_, {}, AliasOrder);
  symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), SameName),
                 symbols_.end());
  uint32_t end_of_range = 0;
  for (uint32_t i = 0; i < symbols_.size(); i = end_of_range) {
    const Symbol& symbol = symbols_[i];
    end_of_range = i + 1;
    while (end_of_range < symbols_.size() &&
           SameRange(symbols_[end_of_range], symbol)) {
      ++end_of_range;
    }
    if (symbol.has_size) {
      sized_.Add(symbol.start, symbol.end, i);
    } else {
      unsized_.Add(symbol.start, std::min(symbol.end, NextStart(i)), i);
    }
  }
  sized_.Seal();
  unsized_.Seal();
}

// Where the first symbol behind `index` is that starts elsewhere.
uint64_t SymbolTable::NextStart(uint32_t index) const {
  const auto next = std::ranges::upper_bound(symbols_, symbols_[index].start,
                                             {}, &Symbol::start);
  return next == symbols_.end() ? UINT64_MAX : next->start;
}

const Symbol* SymbolTable::Find(uint64_t address) const {
  const uint32_t* found = sized_.Find(address);
  if (found == nullptr) found = unsized_.Find(address);
  return found == nullptr ? nullptr : &symbols_[*found];
}

bool SymbolTable::HasName(const Symbol& symbol, std::string_view name) const {
  return RankOf(symbol, name) < kNoRank;
}

bool SymbolTable::IsBetterName(uint64_t address, std::string_view a,
                               std::string_view b) const {
  const Symbol* symbol = Find(address);
  const auto order = [&](std::string_view name) {
    return std::tuple(symbol == nullptr ? kNoRank : RankOf(*symbol, name),
                      name.size(), name);
  };
  return order(a) < order(b);
}

// That of the binding with which the range has the name; kNoRank if it has not.
int SymbolTable::RankOf(const Symbol& symbol, std::string_view name) const {
  Symbol wanted = symbol;
  wanted.name = name;
  for (const int binding : {STB_GLOBAL, STB_WEAK, STB_LOCAL}) {
    wanted.binding = static_cast<uint8_t>(binding);
    if (std::ranges::binary_search(symbols_, AliasOrder(wanted), {},
                                   AliasOrder)) {
      return BindingRank(wanted.binding);
    }
  }
  return kNoRank;
}

}  // namespace unspool::exporters
