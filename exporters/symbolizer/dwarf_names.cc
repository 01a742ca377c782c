#include "exporters/symbolizer/dwarf_names.h"

#include <dwarf.h>
#include <fcntl.h>
#include <libelf.h>
#include <unistd.h>

#include <cstddef>

namespace unspool::exporters {
namespace {

// Bounds for hostile files: compilers nest a few dozen deep, and the largest
// units known (whole browsers after LTO) have some ten million DIEs.
constexpr int kMaxDepth = 500;
constexpr uint64_t kMaxDiesPerUnit = uint64_t{1} << 27;

std::string_view View(const char* text) { return text == nullptr ? "" : text; }

// An attribute of the DIE or of what it is an instance of.
std::string_view StringAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr) return {};
  return View(dwarf_formstring(&attribute));
}

uint64_t NumberAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0) {
    return 0;
  }
  return value;
}

void SetNames(Dwarf_Die* die, DwarfFrame* frame) {
  frame->linkage_name = StringAttribute(die, DW_AT_linkage_name);
  if (frame->linkage_name.empty()) {
    frame->linkage_name = StringAttribute(die, DW_AT_MIPS_linkage_name);
  }
  frame->name = View(dwarf_diename(die));
  int line = 0;
  if (dwarf_decl_line(die, &line) == 0) frame->start_line = line;
  if (frame->file.empty()) frame->file = View(dwarf_decl_file(die));
}

// Where an inlined call was made: the position in the scope around it.
void SetCallSite(Dwarf_Die* unit, Dwarf_Die* call, DwarfFrame* caller) {
  caller->line = static_cast<int64_t>(NumberAttribute(call, DW_AT_call_line));
  const uint64_t file = NumberAttribute(call, DW_AT_call_file);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (dwarf_getsrcfiles(unit, &files, &file_count) == 0 && file < file_count) {
    caller->file = View(dwarf_filesrc(files, file, nullptr, nullptr));
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

std::unique_ptr<DwarfNames> DwarfNames::Open(const std::string& path,
                                             uint64_t code_start,
                                             uint64_t code_end) {
  elf_version(EV_CURRENT);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  Dwarf* dwarf =
      elf == nullptr ? nullptr : dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  if (dwarf == nullptr) {
    elf_end(elf);
    close(fd);
    return nullptr;
  }
  std::unique_ptr<DwarfNames> names(
      new DwarfNames(fd, elf, dwarf, code_start, code_end));
  names->IndexUnits();
  return names;
}

DwarfNames::~DwarfNames() {
  dwarf_end(dwarf_);
  elf_end(elf_);
  close(fd_);
}

// Calls add(start, end) for each range of code that the DIE states; false if
// there was none.
template <typename Add>
bool DwarfNames::ForEachRange(Dwarf_Die* die, Add add) const {
  bool any = false;
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t offset = 0;
  while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
    if (!IsCode(start, end)) continue;
    add(start, end);
    any = true;
  }
  return any;
}

void DwarfNames::IndexUnits() {
  Dwarf_CU* cu = nullptr;
  Dwarf_Die die;
  Dwarf_Half version = 0;
  while (dwarf_get_units(dwarf_, cu, &cu, &version, nullptr, &die, nullptr) ==
         0) {
    if (dwarf_tag(&die) == DW_TAG_compile_unit ||
        dwarf_tag(&die) == DW_TAG_skeleton_unit) {
      units_.push_back({.die = die, .scopes = {}, .scope_at = {}});
    }
  }
  for (uint32_t i = 0; i < units_.size(); ++i) {
    auto add = [this, i](uint64_t start, uint64_t end) {
      unit_at_.Add(start, end, i);
    };
    if (ForEachRange(&units_[i].die, add)) continue;
    // A unit need not state its ranges: then its functions do.
    Walk(&units_[i]);
    for (Scope& scope : units_[i].scopes) {
      if (scope.parent == kNoScope) ForEachRange(&scope.die, add);
    }
  }
  unit_at_.Seal();
}

void DwarfNames::Walk(Unit* unit) {
  uint64_t budget = kMaxDiesPerUnit;
  WalkChildren(unit, &unit->die, kNoScope, 0, &budget);
  unit->scope_at.Seal();
  unit->is_walked = true;
}

// `scope` is the one around the parent's children.
void DwarfNames::WalkChildren(Unit* unit, Dwarf_Die* parent, uint32_t scope,
                              int depth, uint64_t* budget) {
  Dwarf_Die die;
  if (depth > kMaxDepth || dwarf_child(parent, &die) != 0) return;
  Dwarf_Off last_offset = 0;
  do {
    // A sibling attribute that points back would never end.
    const Dwarf_Off offset = dwarf_dieoffset(&die);
    if (offset <= last_offset || --*budget == 0) return;
    last_offset = offset;
    const int tag = dwarf_tag(&die);
    uint32_t inner_scope = scope;
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
      const auto index = static_cast<uint32_t>(unit->scopes.size());
      const bool has_code =
          ForEachRange(&die, [unit, index](uint64_t start, uint64_t end) {
            unit->scope_at.Add(start, end, index);
          });
      if (has_code) {
        unit->scopes.push_back(
            {die, tag == DW_TAG_subprogram ? kNoScope : scope});
        inner_scope = index;
      }
    }
    WalkChildren(unit, &die, inner_scope, depth + 1, budget);
  } while (dwarf_siblingof(&die, &die) == 0);
}

void DwarfNames::Find(uint64_t address, std::vector<DwarfFrame>* frames) {
  frames->clear();
  const uint32_t* unit_index = unit_at_.Find(address);
  if (unit_index == nullptr) return;
  Unit& unit = units_[*unit_index];
  if (!unit.is_walked) Walk(&unit);

  DwarfFrame frame;
  SetLine(&unit.die, address, &frame);
  const uint32_t* innermost = unit.scope_at.Find(address);
  uint32_t index = innermost == nullptr ? kNoScope : *innermost;
  if (index == kNoScope) {
    if (!frame.file.empty()) frames->push_back(frame);
    return;
  }
  while (index != kNoScope) {
    Scope& scope = unit.scopes[index];
    SetNames(&scope.die, &frame);
    frames->push_back(frame);
    frame = DwarfFrame();
    if (scope.parent != kNoScope) SetCallSite(&unit.die, &scope.die, &frame);
    index = scope.parent;
  }
}

}  // namespace unspool::exporters
