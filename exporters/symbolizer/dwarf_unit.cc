#include "exporters/symbolizer/dwarf_unit.h"

#include <utility>
#include <vector>

#include "exporters/symbolizer/die_tree.h"

namespace unspool::exporters {
namespace {

// Bounds for hostile files: compilers nest a few dozen deep, and the largest
// units known (whole browsers after LTO) have some ten million DIEs.
constexpr uint32_t kMaxDepth = 500;
constexpr uint64_t kMaxDiesPerUnit = uint64_t{1} << 27;

bool IsEnclosing(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

}  // namespace

std::string_view StringAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(die, name, &attribute) == nullptr) return {};
  const char* text = dwarf_formstring(&attribute);
  return text == nullptr ? "" : text;
}

class DwarfUnit::Walker {
 public:
  Walker(DwarfUnit& unit, const CodeRange& code, const SymbolTable& symbols)
      : unit_(unit), code_(code), symbols_(symbols) {}

  void Run() {
    ReadTree();
    for (const ScopeRange& range : ranges_) {
      if (is_kept_[range.function]) {
        unit_.scope_at_.Add(range.start, range.end, range.scope);
      }
    }
    unit_.scope_at_.Seal();
  }

 private:
  // What is around a DIE.
  struct Context {
    uint32_t scope = kNoIndex;
    uint32_t function = kNoIndex;  // a scope, too
    uint32_t enclosing = kNoIndex;
  };
  struct ScopeRange {
    uint64_t start;
    uint64_t end;
    uint32_t scope;
    uint32_t function;
  };

  void ReadTree() {
    DieTree tree(unit_.tree());
    DieTree::Entry entry;
    std::vector<Context> around(1);  // by depth, from 1 on
    for (uint64_t i = 0; i < kMaxDiesPerUnit && tree.Next(&entry); ++i) {
      if (entry.depth > kMaxDepth) continue;
      around.resize(entry.depth);
      around.push_back(Enter(&entry, around.back()));
    }
    unit_.is_damaged_ = tree.is_malformed();
  }

  // Notes what the DIE is; returns what is around its children.
  Context Enter(DieTree::Entry* entry, Context context) {
    const int tag = dwarf_tag(&entry->die);
    if (tag == DW_TAG_subprogram) {
      NoteEnclosing(entry, context.enclosing);
      EnterScope(entry, kNoIndex, &context);
    } else if (tag == DW_TAG_inlined_subroutine) {
      EnterScope(entry, context.scope, &context);
    } else if (IsEnclosing(tag)) {
      unit_.enclosing_.push_back({entry->die, context.enclosing});
      context.enclosing = static_cast<uint32_t>(unit_.enclosing_.size() - 1);
    }
    return context;
  }

  // `caller` is what the scope is inlined into; kNoIndex: a function.
  void EnterScope(DieTree::Entry* entry, uint32_t caller, Context* context) {
    if (!entry->has_code) return;
    Dwarf_Die* die = &entry->die;
    const auto index = static_cast<uint32_t>(unit_.scopes_.size());
    const bool is_function = caller == kNoIndex;
    const uint32_t function = is_function ? index : context->function;
    const size_t first = ranges_.size();
    const auto add = [&](uint64_t start, uint64_t end) {
      ranges_.push_back({start, end, index, function});
    };
    if (unit_.split_ == nullptr) {
      ForEachCodeRange(die, code_, add);
    } else {
      for (const auto& [start, end] : unit_.split_->RangesOf(die)) {
        if (code_.Contains(start, end)) add(start, end);
      }
    }
    if (first == ranges_.size()) return;
    unit_.scopes_.push_back({*die, caller});
    is_kept_.push_back(true);
    context->scope = index;
    context->function = function;
    if (is_function) ChooseFunction(ranges_[first]);
  }

  // Between the function and one that begins and ends where it does.
  void ChooseFunction(const ScopeRange& range) {
    const auto [known, is_new] = function_at_.try_emplace(
        std::pair(range.start, range.end), range.function);
    if (is_new) return;
    const bool is_better = symbols_.IsBetterName(
        range.start, NameOf(range.function), NameOf(known->second));
    is_kept_[is_better ? known->second : range.function] = false;
    if (is_better) known->second = range.function;
  }

  std::string_view NameOf(uint32_t scope) {
    Dwarf_Die* die = &unit_.scopes_[scope].die;
    const std::string_view name = StringAttribute(die, DW_AT_linkage_name);
    return name.empty() ? StringAttribute(die, DW_AT_name) : name;
  }

  void NoteEnclosing(DieTree::Entry* entry, uint32_t enclosing) {
    if (enclosing != kNoIndex && entry->has_name && !entry->has_linkage_name) {
      unit_.enclosing_of_.emplace(dwarf_dieoffset(&entry->die), enclosing);
    }
  }

  DwarfUnit& unit_;
  const CodeRange& code_;
  const SymbolTable& symbols_;
  std::vector<ScopeRange> ranges_;
  // By scope; what is inlined goes with its function.
  std::vector<bool> is_kept_;
  // By where its code begins, and ends.
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, uint32_t> function_at_;
};

void DwarfUnit::Walk(const CodeRange& code, const SplitDwarf& split,
                     const SymbolTable& symbols) {
  if (std::exchange(is_walked_, true)) return;
  split_ = split.Find(&die_);
  Walker(*this, code, symbols).Run();
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  is_damaged_ = is_damaged_ || (dwarf_hasattr(&die_, DW_AT_stmt_list) != 0 &&
                                dwarf_getsrclines(&die_, &lines, &count) != 0);
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
