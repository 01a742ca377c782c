// The tree of calls that a report shows: from the outermost frame inwards, or
// from a function outwards to its callers.

#ifndef UNSPOOL_EXPORTERS_CALL_TREE_H_
#define UNSPOOL_EXPORTERS_CALL_TREE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/report_text.h"
#include "exporters/stack_tree.h"

namespace unspool::exporters {

struct CallTree {
  StackTree tree;
  // By node: the values of the node and all below it, and the sum of their
  // magnitudes, which says how much happens there also where a difference's
  // values cancel.
  std::vector<int64_t> cum;
  std::vector<int64_t> weight;

  // The children of a node, the heaviest first.
  // Not async-signal-safe: allocates.
  std::vector<uint32_t> ChildrenByWeight(uint32_t node) const;
};

// For kTree and kCallers. In the latter a sample counts once, from the
// innermost frame that the function's pattern matches.
// InvalidArgument: no regular expression. NotFound: it matches no sample.
// Not async-signal-safe: allocates.
absl::StatusOr<CallTree> BuildCallTree(const ReportContext& context);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_CALL_TREE_H_
