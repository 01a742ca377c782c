#include "exporters/call_tree.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "exporters/function_table.h"
#include "exporters/name_pattern.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr double kLeastShare = 0.005;  // of what the tree shows, for a line
constexpr size_t kMaxIndent = 24;      // columns; of deeper ones the level
constexpr size_t kShownIndent = 16;    // stands in front of so many

// Calls add(path, value) for each sample that counts, outermost name first.
template <typename Add>
void ForEachPath(const ReportContext& context, Add add) {
  std::vector<uint32_t> path;
  for (size_t i = 0; i < context.profile.sample_count(); ++i) {
    const Sample sample = context.profile.sample(i);
    const int64_t value = sample.values[context.value_index];
    if (value == 0 || !context.filter.Keeps(sample)) continue;
    context.names.CollectPath(sample, &path);
    add(path, value);
  }
}

// From the innermost match on outwards.
absl::Status AddCallers(const ReportContext& context, StackTree* tree) {
  const auto pattern = NamePattern::Create(context.request.function);
  if (!pattern.ok()) return pattern.status();
  std::vector<bool> is_match(context.names.size());
  for (uint32_t name = 0; name < is_match.size(); ++name) {
    is_match[name] = pattern->Finds(context.names.function(name)) ||
                     pattern->Finds(context.names.name(name));
  }
  bool found = false;
  ForEachPath(context, [&](std::vector<uint32_t>& path, int64_t value) {
    while (!path.empty() && !is_match[path.back()]) path.pop_back();
    if (path.empty()) return;
    found = true;
    std::ranges::reverse(path);
    tree->Add(path, value);
  });
  return found ? absl::OkStatus()
               : absl::NotFoundError("no function matches '" +
                                     context.request.function + "'");
}

class TreeWriter {
 public:
  TreeWriter(const ReportContext& context, const CallTree& calls,
             const ValueColumns& columns, std::ostream& out)
      : context_(context), calls_(calls), columns_(columns), out_(out) {}

  // Depth first with a stack of its own: profiles may be deeper than ours. An
  // only child stays in its caller's column; "+" marks one of several.
  void Write() {
    std::vector<Visit> to_visit = {{.node = 0, .mark = "", .indent = ""}};
    const size_t limit = context_.request.style.rows;
    size_t rows = 0;
    int64_t hidden = 0;  // by the limit
    while (!to_visit.empty()) {
      const Visit visit = std::move(to_visit.back());
      to_visit.pop_back();
      if (visit.node != 0 || visit.hidden != 0) {
        if (limit == 0 || rows < limit) {
          WriteLine(visit);
        } else {
          hidden = AddValues(hidden, OwnValue(visit));
        }
        ++rows;
      }
      if (visit.hidden == 0) AddChildren(visit, &to_visit);
    }
    if (limit != 0 && rows > limit) {
      WriteHidden(columns_, rows - limit, hidden, out_);
    }
  }

 private:
  struct Visit {
    uint32_t node;
    const char* mark;        // "+ " or ""
    std::string indent;      // before the mark
    std::string below = "";  // before what the node calls
    size_t hidden = 0;       // stands for so many small ones, of cum
    int64_t cum = 0;
  };

  // Of no other line.
  int64_t OwnValue(const Visit& visit) const {
    return visit.hidden != 0 ? visit.cum : calls_.tree.nodes()[visit.node].self;
  }

  // Levels are two columns. What is deeper than fits has the number of its
  // level in front of the last ones.
  static std::string FitIndent(const std::string& indent) {
    if (indent.size() <= kMaxIndent) return indent;
    std::string level = "[" + std::to_string(indent.size() / 2) + "] ";
    level.resize(std::max(level.size(), kMaxIndent - kShownIndent), ' ');
    return level + indent.substr(indent.size() - kShownIndent);
  }

  void AddChildren(const Visit& visit, std::vector<Visit>* to_visit) const {
    const std::vector<uint32_t> children = calls_.ChildrenByWeight(visit.node);
    size_t shown = 0;
    while (shown < children.size() &&
           static_cast<double>(calls_.weight[children[shown]]) >=
               kLeastShare * static_cast<double>(calls_.weight[0])) {
      ++shown;
    }
    Visit rest = {.node = 0, .mark = "+ ", .indent = visit.below};
    rest.hidden = children.size() - shown;
    for (uint32_t child : std::span(children).subspan(shown)) {
      rest.cum = AddValues(rest.cum, calls_.cum[child]);
    }
    const size_t lines = shown + (rest.hidden != 0 ? 1 : 0);
    if (rest.hidden != 0) to_visit->push_back(rest);
    for (size_t i = shown; i-- > 0;) {
      const bool is_last = i + 1 == lines;
      to_visit->push_back(
          {.node = children[i],
           .mark = lines > 1 ? "+ " : "",
           .indent = visit.below,
           .below = lines == 1 ? visit.below
                               : visit.below + (is_last ? "  " : "| ")});
    }
  }

  void WriteLine(const Visit& visit) const {
    const int64_t cum = visit.hidden != 0 ? visit.cum : calls_.cum[visit.node];
    const int64_t flat =
        visit.hidden != 0 ? 0 : calls_.tree.nodes()[visit.node].self;
    const bool has_flat = context_.request.view == ReportView::kTree;
    char figures[96];
    std::snprintf(figures, sizeof(figures), "%10s %s%*s  ",
                  columns_.Value(cum).c_str(), columns_.Percent(cum).c_str(),
                  has_flat ? 11 : 0,
                  has_flat ? columns_.Value(flat).c_str() : "");
    const std::string indent = FitIndent(visit.indent) + visit.mark;
    out_ << figures << indent;
    if (visit.hidden != 0) {
      out_ << "(" << visit.hidden << " smaller)\n";
      return;
    }
    const size_t width = context_.request.style.width;
    const size_t used = std::string_view(figures).size() + indent.size();
    const size_t room = width == 0 ? 0 : std::max(width, used + 20) - used;
    out_ << Shade(context_.request.style, columns_.Share(cum),
                  FitName(
                      context_.names.name(calls_.tree.nodes()[visit.node].name),
                      room))
         << '\n';
  }

  const ReportContext& context_;
  const CallTree& calls_;
  const ValueColumns& columns_;
  std::ostream& out_;
};

}  // namespace

std::vector<uint32_t> CallTree::ChildrenByWeight(uint32_t node) const {
  const std::span<const uint32_t> by_name = tree.children(node);
  std::vector<uint32_t> children(by_name.begin(), by_name.end());
  std::ranges::stable_sort(children, [this](uint32_t a, uint32_t b) {
    return weight[a] > weight[b];
  });
  return children;
}

absl::StatusOr<CallTree> BuildCallTree(const ReportContext& context) {
  CallTree calls;
  if (context.request.view == ReportView::kCallers) {
    absl::Status status = AddCallers(context, &calls.tree);
    if (!status.ok()) return status;
  } else {
    ForEachPath(context, [&](std::span<const uint32_t> path, int64_t value) {
      calls.tree.Add(path, value);
    });
  }
  calls.tree.Finish(context.names);
  const std::vector<StackTree::Node>& nodes = calls.tree.nodes();
  for (const StackTree::Node& node : nodes) {
    calls.cum.push_back(node.self);
    calls.weight.push_back(Magnitude(node.self));
  }
  for (size_t i = nodes.size() - 1; i > 0; --i) {
    const uint32_t parent = nodes[i].parent;
    calls.cum[parent] = AddValues(calls.cum[parent], calls.cum[i]);
    calls.weight[parent] = AddValues(calls.weight[parent], calls.weight[i]);
  }
  return calls;
}

absl::Status WriteCallTree(const ReportContext& context, std::ostream& out) {
  const absl::StatusOr<CallTree> calls = BuildCallTree(context);
  if (!calls.ok()) return calls.status();
  const int64_t total = TotalValue(context.profile, context.value_index);
  int64_t smallest = 0;
  for (const StackTree::Node& node : calls->tree.nodes()) {
    const int64_t value = Magnitude(node.self);
    if (value != 0 && (smallest == 0 || value < smallest)) smallest = value;
  }
  const ValueColumns columns(context, smallest, total);
  WriteReportHeader(context, columns, out);
  out << "       cum " << std::string(columns.percent_width() - 6, ' ')
      << (context.request.view == ReportView::kTree
              ? "  cum%       flat  calls, outermost first\n"
              : "  cum%  callers, innermost first\n");
  TreeWriter(context, *calls, columns, out).Write();
  return absl::OkStatus();
}

}  // namespace unspool::exporters
