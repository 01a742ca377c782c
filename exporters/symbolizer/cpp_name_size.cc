#include "exporters/symbolizer/cpp_name_size.h"

#define HAVE_DECL_BASENAME 1  // libiberty's would differ from <cstring>'s
#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace unspool::exporters {
namespace {

constexpr uint32_t kMaxParts = 1 << 16;
constexpr int kMaxDepth = 1024;  // libiberty's own, when it prints
// libiberty prints with an array on the stack of 16 bytes for each pair of a
// template and a scope, and may count each of these twice: 256 KiB.
constexpr uint64_t kMaxPairs = 4096;

using Children = std::array<const demangle_component*, 2>;

// Which of the union's members a type uses is said in demangle.h.
Children ChildrenOf(const demangle_component& part) {
  switch (part.type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_CHARACTER:
      return {};
    case DEMANGLE_COMPONENT_CTOR:
      return {part.u.s_ctor.name};
    case DEMANGLE_COMPONENT_DTOR:
      return {part.u.s_dtor.name};
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
      return {part.u.s_extended_operator.name};
    case DEMANGLE_COMPONENT_FIXED_TYPE:
      return {part.u.s_fixed.length};
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
      return {part.u.s_unary_num.sub};
    default:
      return {part.u.s_binary.left, part.u.s_binary.right};
  }
}

class Counter {
 public:
  // How many parts are printed for `part`; above kMaxParts for too many.
  uint32_t Count(const demangle_component* part, int depth) {
    if (part == nullptr) return 0;
    if (depth > kMaxDepth) return kTooMany;
    // Until it is known, for a part that contains itself.
    const auto [entry, is_new] = counts_.try_emplace(part, kTooMany);
    if (!is_new) return entry->second;
    if (part->type == DEMANGLE_COMPONENT_TEMPLATE) ++templates_;
    if (IsScope(*part)) ++scopes_;
    uint32_t count = 1;
    for (const demangle_component* child : ChildrenOf(*part)) {
      count = std::min(kTooMany, count + Count(child, depth + 1));
    }
    counts_[part] = count;
    return count;
  }

  bool HasFewPairs() const { return templates_ * scopes_ <= kMaxPairs; }

 private:
  static constexpr uint32_t kTooMany = kMaxParts + 1;

  // libiberty saves the scope of a reference to a template parameter.
  static bool IsScope(const demangle_component& part) {
    if (part.type != DEMANGLE_COMPONENT_REFERENCE &&
        part.type != DEMANGLE_COMPONENT_RVALUE_REFERENCE) {
      return false;
    }
    const demangle_component* left = part.u.s_binary.left;
    return left != nullptr && left->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
  }

  uint64_t templates_ = 0;
  uint64_t scopes_ = 0;
  absl::flat_hash_map<const demangle_component*, uint32_t> counts_;
};

}  // namespace

bool IsPrintableSize(const demangle_component* tree) {
  Counter counter;
  return counter.Count(tree, 0) <= kMaxParts && counter.HasFewPairs();
}

}  // namespace unspool::exporters
