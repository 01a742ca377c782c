#include "exporters/symbolizer/dwarf_names.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace unspool::exporters {
namespace {

// A concrete function refers to its abstract instance, and that to the
// declaration in its class; longer chains are malformed.
constexpr int kMaxReferences = 16;

std::string_view View(const char* text) { return text == nullptr ? "" : text; }

uint64_t NumberAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0) {
    return 0;
  }
  return value;
}

// The DIE that declares what `die` is an instance of.
Dwarf_Die Declaration(const Dwarf_Die& die) {
  Dwarf_Die declaration = die;
  for (int i = 0; i < kMaxReferences; ++i) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if ((dwarf_attr(&declaration, DW_AT_abstract_origin, &attribute) ==
             nullptr &&
         dwarf_attr(&declaration, DW_AT_specification, &attribute) ==
             nullptr) ||
        dwarf_formref_die(&attribute, &next) == nullptr) {
      break;
    }
    declaration = next;
  }
  return declaration;
}

// Where an inlined call was made: the position in the scope around it. A line
// of no file says nothing.
void SetCallSite(Dwarf_Die* unit, Dwarf_Die* call, DwarfFrame* caller) {
  const uint64_t file = NumberAttribute(call, DW_AT_call_file);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (dwarf_getsrcfiles(unit, &files, &file_count) == 0 && file < file_count) {
    caller->file = View(dwarf_filesrc(files, file, nullptr, nullptr));
    caller->line = static_cast<int64_t>(NumberAttribute(call, DW_AT_call_line));
  }
}

void SetLine(Dwarf_Die* unit, uint64_t address, DwarfFrame* frame) {
  Dwarf_Line* line = dwarf_getsrc_die(unit, address);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0) return;
  frame->line = number;
  frame->file = View(dwarf_linesrc(line, nullptr, nullptr));
}

}  // namespace

std::unique_ptr<DwarfNames> DwarfNames::Open(const DebugFiles& files,
                                             const CodeRange& code,
                                             const SymbolTable& symbols) {
  if (files.dwarf() == nullptr) return nullptr;
  std::unique_ptr<DwarfNames> names(new DwarfNames(files, code, symbols));
  if (names->dwarf_.get() == nullptr) return nullptr;
  names->IndexUnits();
  return names;
}

DwarfNames::DwarfNames(const DebugFiles& files, const CodeRange& code,
                       const SymbolTable& symbols)
    : alt_(files.alt() == nullptr ? DwarfHandle()
                                  : DwarfHandle(files.alt()->list())),
      dwarf_(files.dwarf()->list()),
      split_(files.split()),
      symbols_(symbols),
      code_(code) {
  for (const DwarfSection& section : files.dwarf()->list()) {
    if (std::string_view(section.name) == ".debug_info") {
      size_bytes_ = section.bytes.size();
    }
  }
  if (dwarf_.get() != nullptr && alt_.get() != nullptr) {
    dwarf_setalt(dwarf_.get(), alt_.get());
  }
}

void DwarfNames::IndexUnits() {
  Dwarf_CU* cu = nullptr;
  Dwarf_Die die;
  int result = 0;
  while ((result = dwarf_get_units(dwarf_.get(), cu, &cu, nullptr, nullptr,
                                   &die, nullptr)) == 0) {
    // Its abbreviation is none.
    is_damaged_ = is_damaged_ || dwarf_tag(&die) == DW_TAG_invalid;
    const auto index = static_cast<uint32_t>(units_.size());
    units_.emplace_back(die);
    offsets_.push_back(dwarf_dieoffset(&die));
    ForEachCodeRange(&die, code_, [this, index](uint64_t start, uint64_t end) {
      unit_at_.Add(start, end, index);
    });
  }
  is_damaged_ = is_damaged_ || result < 0;
  unit_at_.Seal();
  for (DwarfUnit& unit : units_) unit_of_.emplace(unit.die()->cu, &unit);
}

std::optional<uint32_t> DwarfNames::UnitAt(uint64_t address) const {
  const uint32_t* unit = unit_at_.Find(address);
  if (unit == nullptr) return std::nullopt;
  return *unit;
}

uint64_t DwarfNames::SizeOf(uint32_t unit) const {
  const uint64_t end =
      unit + 1 < offsets_.size() ? offsets_[unit + 1] : size_bytes_;
  return end - std::min(end, offsets_[unit]);
}

std::vector<DwarfFrame> DwarfNames::Find(uint64_t address) {
  std::vector<DwarfFrame> frames;
  const std::optional<uint32_t> unit_index = UnitAt(address);
  if (!unit_index) return frames;
  DwarfUnit& unit = units_[*unit_index];
  if (!unit.is_walked()) read_bytes_ += SizeOf(*unit_index);
  Walk(&unit);
  DwarfFrame frame;
  SetLine(unit.die(), address, &frame);
  frame.file = unit.FullPath(frame.file);
  uint32_t index = unit.FindScope(address);
  if (index == DwarfUnit::kNoIndex && !frame.file.empty()) {
    frames.push_back(std::move(frame));
  }
  while (index != DwarfUnit::kNoIndex) {
    DwarfUnit::Scope& scope = unit.scope(index);
    SetNames(unit, &scope.die, &frame);
    frames.push_back(std::exchange(frame, DwarfFrame()));
    SetCallSite(unit.tree(), &scope.die, &frame);
    frame.file = unit.FullPath(frame.file);
    index = scope.caller;
  }
  return frames;
}

void DwarfNames::SetNames(DwarfUnit& unit, Dwarf_Die* die, DwarfFrame* frame) {
  frame->linkage_name = StringAttribute(die, DW_AT_linkage_name);
  if (frame->linkage_name.empty()) {
    frame->linkage_name = StringAttribute(die, DW_AT_MIPS_linkage_name);
  }
  frame->name = frame->linkage_name.empty() ? QualifiedName(die)
                                            : View(dwarf_diename(die));
  int line = 0;
  if (dwarf_decl_line(die, &line) == 0) frame->start_line = line;
  if (frame->file.empty()) {
    frame->file = unit.FullPath(View(dwarf_decl_file(die)));
  }
}

// gcc gives a function that it inlined everywhere no linkage name: its name is
// put together from what encloses its declaration.
std::string DwarfNames::QualifiedName(Dwarf_Die* die) {
  const std::string_view name = View(dwarf_diename(die));
  Dwarf_Die declaration = Declaration(*die);
  DwarfUnit* unit = UnitOf(&declaration);
  if (unit == nullptr) return std::string(name);
  Walk(unit);
  return unit->EnclosingNames(dwarf_dieoffset(&declaration)).append(name);
}

void DwarfNames::Walk(DwarfUnit* unit) {
  unit->Walk(code_, split_, symbols_);
  is_damaged_ = is_damaged_ || unit->is_damaged();
  unit_of_.try_emplace(unit->tree()->cu, unit);
}

// The unit that a DIE lies in, be it in a file that several modules share
// (dwz); null if libdw does not know.
DwarfUnit* DwarfNames::UnitOf(Dwarf_Die* die) {
  const auto found = unit_of_.find(die->cu);
  if (found != unit_of_.end()) return found->second;
  Dwarf_Die unit_die;
  if (dwarf_diecu(die, &unit_die, nullptr, nullptr) == nullptr) return nullptr;
  DwarfUnit* unit = &others_.emplace_back(unit_die);
  unit_of_.emplace(die->cu, unit);
  return unit;
}

}  // namespace unspool::exporters
