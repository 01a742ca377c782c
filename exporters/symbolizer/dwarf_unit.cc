#include "exporters/symbolizer/dwarf_unit.h"

#include <utility>

namespace unspool::exporters {
namespace {

// Bounds for hostile files: compilers nest a few dozen deep, and the largest
// units known (whole browsers after LTO) have some ten million DIEs.
constexpr int kMaxDepth = 500;
constexpr uint64_t kMaxDiesPerUnit = uint64_t{1} << 27;

bool IsEnclosing(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

}  // namespace

struct DwarfUnit::Walker {
  DwarfUnit& unit;
  const CodeRange& code;
  uint64_t dies_left = kMaxDiesPerUnit;

  // What is around a DIE.
  struct Context {
    uint32_t scope = kNoIndex;
    uint32_t enclosing = kNoIndex;
    int depth = 0;
  };

  void WalkChildren(Dwarf_Die* parent, const Context& context) {
    Dwarf_Die die;
    if (context.depth > kMaxDepth || dwarf_child(parent, &die) != 0) return;
    Dwarf_Off last_offset = 0;
    do {
      // A sibling attribute that points back would never end.
      const Dwarf_Off offset = dwarf_dieoffset(&die);
      if (offset <= last_offset || --dies_left == 0) return;
      last_offset = offset;
      WalkChildren(&die, Enter(&die, context));
    } while (dwarf_siblingof(&die, &die) == 0);
  }

  // Notes what the DIE is; returns what is around its children.
  Context Enter(Dwarf_Die* die, Context context) {
    ++context.depth;
    const int tag = dwarf_tag(die);
    if (tag == DW_TAG_subprogram) {
      NoteEnclosing(die, context.enclosing);
      EnterScope(die, kNoIndex, &context);
    } else if (tag == DW_TAG_inlined_subroutine) {
      EnterScope(die, context.scope, &context);
    } else if (IsEnclosing(tag)) {
      unit.enclosing_.push_back({*die, context.enclosing});
      context.enclosing = static_cast<uint32_t>(unit.enclosing_.size() - 1);
    }
    return context;
  }

  void EnterScope(Dwarf_Die* die, uint32_t caller, Context* context) {
    const auto index = static_cast<uint32_t>(unit.scopes_.size());
    bool has_code = false;
    const auto add = [&](uint64_t start, uint64_t end) {
      unit.scope_at_.Add(start, end, index);
      has_code = true;
    };
    if (unit.split_ == nullptr) {
      ForEachCodeRange(die, code, add);
    } else {
      for (const auto& [start, end] : unit.split_->RangesOf(die)) {
        if (code.Contains(start, end)) add(start, end);
      }
    }
    if (!has_code) return;
    unit.scopes_.push_back({*die, caller});
    context->scope = index;
  }

  void NoteEnclosing(Dwarf_Die* die, uint32_t enclosing) {
    if (enclosing != kNoIndex && dwarf_hasattr(die, DW_AT_name) != 0 &&
        dwarf_hasattr(die, DW_AT_linkage_name) == 0) {
      unit.enclosing_of_.emplace(dwarf_dieoffset(die), enclosing);
    }
  }
};

void DwarfUnit::Walk(const CodeRange& code, const SplitDwarf& split) {
  if (std::exchange(is_walked_, true)) return;
  split_ = split.Find(&die_);
  Walker walker = {.unit = *this, .code = code};
  walker.WalkChildren(tree(), {});
  scope_at_.Seal();
}

std::string_view DwarfUnit::FullPath(std::string_view file) {
  if (file.empty() || file.starts_with('/')) return file;
  const auto [entry, is_new] = full_paths_.try_emplace(file);
  if (is_new) {
    Dwarf_Attribute attribute;
    const char* folder =
        dwarf_formstring(dwarf_attr(&die_, DW_AT_comp_dir, &attribute));
    entry->second = folder == nullptr ? std::string(file)
                                      : folder + ("/" + std::string(file));
  }
  return entry->second;
}

std::string DwarfUnit::EnclosingNames(Dwarf_Off offset) {
  std::string names;
  const auto found = enclosing_of_.find(offset);
  if (found == enclosing_of_.end()) return names;
  for (uint32_t i = found->second; i != kNoIndex; i = enclosing_[i].outer) {
    const char* name = dwarf_diename(&enclosing_[i].die);
    if (name == nullptr) {
      // Inline namespaces and structures may have none; C++ says it so.
      name = dwarf_tag(&enclosing_[i].die) == DW_TAG_namespace
                 ? "(anonymous namespace)"
                 : "{unnamed}";
    }
    names.insert(0, std::string(name) + "::");
  }
  return names;
}

}  // namespace unspool::exporters
