// Brendan Gregg's folded stacks: "root;caller;leaf 123", one line per distinct
// stack, ordered by the names on it.

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exporters/export.h"
#include "exporters/frame_names.h"
#include "exporters/sample_value.h"
#include "exporters/stack_tree.h"

namespace unspool::exporters {
namespace {

// A ';' would end the frame.
std::string FoldedName(std::string_view name) {
  std::string out = Printable(name);
  std::ranges::replace(out, ';', ':');
  return out;
}

// Depth first with a stack of its own: profiles may be deeper than ours.
void WriteTree(const StackTree& tree, const FrameNames& names,
               std::ostream& out) {
  struct Visit {
    uint32_t node;
    size_t prefix_size;  // of the line, up to the node's parent
  };
  std::vector<std::string> folded;
  folded.reserve(names.size());
  for (uint32_t i = 0; i < names.size(); ++i) {
    folded.push_back(FoldedName(names.name(i)));
  }
  std::vector<Visit> to_visit = {{0, 0}};
  std::string line;
  while (!to_visit.empty() && out.good()) {
    const auto [node, prefix_size] = to_visit.back();
    to_visit.pop_back();
    line.resize(prefix_size);
    if (node != 0) {
      if (prefix_size != 0) line += ';';
      line += folded[tree.nodes()[node].name];
    }
    const int64_t self = tree.nodes()[node].self;
    if (self != 0 && node != 0) out << line << ' ' << self << '\n';
    const std::span<const uint32_t> children = tree.children(node);
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      to_visit.push_back({*child, line.size()});
    }
  }
}

}  // namespace

absl::Status WriteFolded(const Profile& profile, std::string_view value,
                         std::ostream& out) {
  absl::StatusOr<size_t> index = SampleTypeIndex(profile, value);
  if (!index.ok()) return index.status();
  const FrameNames names(profile);
  WriteTree(StackTree(profile, names, *index), names, out);
  return absl::OkStatus();
}

}  // namespace unspool::exporters
