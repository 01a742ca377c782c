// The flame graph as a plain SVG (1.1, with CSS): rectangles and text, a
// <title> as tooltip, light or dark as its reader prefers. No script.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/export.h"
#include "exporters/flame/flame_facts.h"
#include "exporters/flame/flame_layout.h"
#include "exporters/flame/flame_tree.h"
#include "exporters/flame/name_forms.h"
#include "exporters/flame/sample_groups.h"
#include "exporters/flame/stack_frames.h"
#include "exporters/flame/svg_text.h"
#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr int kWidth = 1200;
constexpr int kMargin = 10;
constexpr int kRow = 17;
constexpr int kHeading = 68;
constexpr double kCharWidth = 6.65;  // of a monospace font of 11 px
constexpr size_t kMaxNodes = 8000;
constexpr size_t kMaxBytes = 4'500'000;
constexpr double kMinShare = 0.001;
constexpr size_t kMaxNameBytes = 160;
constexpr size_t kModuleColors = 8;
// A difference's strongest color is that of its largest change, but of this at
// least: noise shall look like noise.
constexpr double kLeastStrongChange = 0.05;
constexpr double kLeastChange = 0.0005;  // smaller ones are not in the picture

// By FrameKind, and what the legend says of each; as page/text.js has them.
constexpr std::string_view kKindSigns[] = {"", "◆ ", "✂ ", "∅ ", "⋯ "};
constexpr std::string_view kKindTexts[] = {"", "kernel", "cut short",
                                           "stack unknown", "smaller frames"};
constexpr std::string_view kKindClasses[] = {"", "o k", "s", "s", "o"};

constexpr std::string_view kStyle = R"css(<style>
svg{background:#fdfcfa;color:#33291f}
text{font:11px ui-monospace,Menlo,"DejaVu Sans Mono",monospace;fill:currentColor;pointer-events:none}
.h{font-size:14px;font-weight:bold}
rect{stroke:#fdfcfa;stroke-width:.6}
.i{font-style:italic}.b{stroke:#8b837b;stroke-width:2}
.k{stroke:#8b837b;stroke-width:2.5}.g{stroke:currentColor;stroke-width:1;stroke-dasharray:4 3}
.o{fill:#dedad5}.s{fill:url(#s)}.x{fill-opacity:.84}.y{fill-opacity:.68}
.m0{fill:#f3bd8c}.m1{fill:#a9d7f3}.m2{fill:#aee0b6}.m3{fill:#dcc3f1}
.m4{fill:#f6bcb4}.m5{fill:#9fdcd9}.m6{fill:#d9d38f}.m7{fill:#c0c8f4}
.u1{fill:#ecc5b4}.u2{fill:#f0a584}.u3{fill:#f0834e}
.d1{fill:#b4d3ee}.d2{fill:#81c0f6}.d3{fill:#43acfb}
@media(prefers-color-scheme:dark){
svg{background:#1b1714;color:#f1ece6}rect{stroke:#1b1714}.o{fill:#3a3430}
.k{stroke:#8b837b}.g{stroke:currentColor}
.m0{fill:#85500f}.m1{fill:#07577c}.m2{fill:#1f6237}.m3{fill:#5f3f80}
.m4{fill:#843c35}.m5{fill:#00615f}.m6{fill:#5e5600}.m7{fill:#434f8d}
.u1{fill:#5c3f32}.u2{fill:#804326}.u3{fill:#a4450c}
.d1{fill:#314a5e}.d2{fill:#205a86}.d3{fill:#006bb0}}
</style>
<defs><pattern id="s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0H7V7H0Z" fill="#9a938c" opacity=".35"/><path d="M0 0V7" stroke="#8b837b"/></pattern></defs>
)css";

std::string Formatted(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof(text), format, number);
  return text;
}

std::string Percent(double share) { return Formatted("%.2f%%", share * 100); }

// "x="1.0" y="2" width="3.0" height="4"".
std::string Box(double x, int y, double width, int height) {
  char text[128];
  std::snprintf(text, sizeof(text),
                "x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"", x, y, width,
                height);
  return text;
}

// The parts of one profile's picture.
struct Picture {
  const Profile& profile;
  size_t value_index;
  const SampleGroups& groups;
  const StackFrames& frames;
  const FlameFacts& facts;
};

class SvgWriter {
 public:
  SvgWriter(const Picture& picture, const FlameTree& tree)
      : frames_(picture.frames),
        facts_(picture.facts),
        tree_(tree),
        layout_(tree, picture.groups, picture.groups.is_difference),
        is_difference_(picture.groups.is_difference),
        sums_(FindDiffSums(picture.profile, picture.value_index)
                  .value_or(DiffSums{layout_.before(0), layout_.total(0)})),
        unit_(picture.profile.strings
                  [picture.profile.sample_types[picture.value_index].unit]) {
    RankModules();
  }

  std::string Write() {
    uint32_t deepest = 0;
    for (const FlameNode& node : tree_.nodes) {
      deepest = std::max(deepest, node.depth);
    }
    const std::string width = std::to_string(kWidth);
    const std::string height = std::to_string(
        kHeading + (static_cast<int>(deepest) + 1) * kRow + kMargin);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width +
           " " + height + "\" width=\"" + width + "\" height=\"" + height +
           "\" role=\"img\" aria-labelledby=\"t\">\n";
    out_ += kStyle;
    WriteHeading();
    WriteLegend();
    for (size_t i = 0; i < tree_.nodes.size(); ++i) WriteNode(i);
    return std::move(out_) + "</svg>\n";
  }

 private:
  // The heaviest modules have a color of their own.
  void RankModules() {
    absl::flat_hash_map<std::string_view, int64_t> self;
    for (size_t i = 1; i < tree_.nodes.size(); ++i) {
      const StackFrames::Frame& frame = FrameOf(i);
      if (frame.kind > FrameKind::kKernel) continue;
      int64_t& sum = self[frame.module];
      sum = AddValues(sum, layout_.self(i));
    }
    for (const auto& [module, sum] : self) modules_.push_back({-sum, module});
    std::ranges::sort(modules_);
    modules_.resize(std::min(modules_.size(), kModuleColors));
    for (const auto& [sum, module] : modules_) {
      colors_.emplace(module, "m" + std::to_string(colors_.size()));
    }
  }

  const StackFrames::Frame& FrameOf(size_t node) const {
    return frames_.frames()[tree_.nodes[node].frame];
  }

  // "o" where nothing changed, else how much, in thirds of the strongest color:
  // "u1" to "u3" up, "d1" to "d3" down.
  std::string ColorOfChange(double change) const {
    const double strongest =
        std::max(layout_.largest_change(), kLeastStrongChange);
    const double strength = std::sqrt(std::abs(change) / strongest);
    if (strength < 0.12) return "o";
    const int step = std::min(3, static_cast<int>(strength * 3) + 1);
    return (change > 0 ? "u" : "d") + std::to_string(step);
  }

  std::string ColorOf(size_t node) const {
    const StackFrames::Frame& frame = FrameOf(node);
    if (node == 0 || frame.kind == FrameKind::kFolded) return "o";
    if (frame.kind > FrameKind::kKernel) return "s";
    if (is_difference_) return ColorOfChange(layout_.change(node));
    const auto color = colors_.find(frame.module);
    if (color == colors_.end()) return "o";
    // Neighbors of one module are told apart by shades of its color.
    const char* const shades[] = {"", " x", " y"};
    return color->second + shades[frame.name.size() % std::size(shades)];
  }

  // Its color, and the edge that says what color alone must not.
  std::string ClassOf(size_t node) const {
    std::string classes = ColorOf(node);
    if (node == 0) return classes;
    if (FrameOf(node).kind == FrameKind::kKernel) classes += " k";
    if (layout_.is_guessed(node)) classes += " g";
    return classes;
  }

  std::string NameOf(size_t node) const {
    if (node == 0) return "all";
    const StackFrames::Frame& frame = FrameOf(node);
    const uint32_t place = tree_.nodes[node].place;
    if (frame.kind == FrameKind::kFolded) {
      return std::to_string(place) + " smaller frame" + (place == 1 ? "" : "s");
    }
    return ShortenMiddle(frame.name, kMaxNameBytes);
  }

  std::string NameIn(size_t node, size_t room) const {
    const bool is_frame = node != 0 && FrameOf(node).kind != FrameKind::kFolded;
    return EscapeXml(
        FitForm(is_frame ? FrameOf(node).name : NameOf(node), room), room);
  }

  std::string ChangeText(size_t node) const {
    return Formatted("%+.2f%%", layout_.change(node) * 100);
  }

  // In front of the name: the same for those who see no color.
  std::string SignsOf(size_t node) const {
    if (node == 0) return "";
    std::string signs(kKindSigns[static_cast<size_t>(FrameOf(node).kind)]);
    if (tree_.nodes[node].inlined) signs += "↳ ";
    if (layout_.is_guessed(node)) signs += "? ";
    if (!is_difference_) return signs;
    const bool is_new = layout_.share_before(node) == 0;
    const bool is_gone = layout_.share(node) == 0;
    if (is_new) signs += "new ";
    if (is_gone) signs += "gone ";
    const bool is_same = std::abs(layout_.change(node)) < kLeastChange;
    return is_same && !is_new && !is_gone ? signs
                                          : signs + ChangeText(node) + " ";
  }

  // The values as they were before one profile was scaled to the other.
  std::string Amount(double share, int64_t sum) const {
    return FormatValue(std::llround(share * static_cast<double>(sum)), unit_,
                       "auto");
  }

  std::string FiguresOf(size_t node) const {
    const double share = layout_.share(node);
    if (is_difference_) {
      const double before = layout_.share_before(node);
      return Amount(before, sums_.base) + " (" + Percent(before) + ") → " +
             Amount(share, sums_.profile) + " (" + Percent(share) + "), " +
             ChangeText(node);
    }
    std::string text = FormatValue(layout_.total(node), unit_, "auto") + " (" +
                       Percent(share) + ")";
    if (layout_.self(node) != 0) {
      text += ", self " + FormatValue(layout_.self(node), unit_, "auto");
    }
    return text;
  }

  std::string PlaceOf(size_t node) const {
    const StackFrames::Frame& frame = FrameOf(node);
    if (node == 0 || frame.kind == FrameKind::kFolded) return "";
    const StackFrames::Place& place = frames_.places()[tree_.nodes[node].place];
    std::string text;
    if (!place.file.empty()) {
      text += "\n" + EscapeXml(ShortenMiddle(place.file, kMaxNameBytes));
      if (place.line > 0) text += ":" + std::to_string(place.line);
    }
    if (!frame.module.empty()) {
      text += "\n" + EscapeXml(ShortenMiddle(frame.module, kMaxNameBytes));
    }
    return text;
  }

  void WriteHeading() {
    std::string line = FormatValue(sums_.profile, unit_, "auto");
    if (is_difference_) {
      line = FormatValue(sums_.base, unit_, "auto") + " → " + line;
    }
    for (const auto& [key, text] : facts_) {
      if (key == "title") {
        out_ += "<text id=\"t\" class=\"h\" x=\"10\" y=\"19\">" +
                EscapeXml(text, 130) + "</text>\n";
      } else if (key == "type") {
        line += " " + text + (is_difference_ ? ", each as 100%" : "");
      } else if (key != "program" && key != "unit" && key != "difference") {
        line += " · " + text;
      }
    }
    out_ += "<text x=\"10\" y=\"36\">" + EscapeXml(line, 175) + "</text>\n";
  }

  void WriteLegend() {
    double x = kMargin;
    if (is_difference_) {
      WriteLegendItem("u3", "grew (+)", &x);
      WriteLegendItem("d3", "shrank (-)", &x);
      WriteLegendItem("o", "as before", &x);
    }
    for (const auto& [negated_self, module] : modules_) {
      // The right half is that of the signs.
      if (is_difference_ || x > kWidth / 2) break;
      WriteLegendItem(colors_[module],
                      module.empty() ? "no file" : ShortenMiddle(module, 28),
                      &x);
    }
    WriteSignLegend(x);
  }

  void WriteSignLegend(double x) {
    bool present[std::size(kKindSigns)] = {};
    bool has_inlined = false, has_guessed = false;
    for (size_t i = 1; i < tree_.nodes.size(); ++i) {
      present[static_cast<size_t>(FrameOf(i).kind)] = true;
      has_inlined |= tree_.nodes[i].inlined;
      has_guessed |= layout_.is_guessed(i);
    }
    for (size_t kind = 1; kind < std::size(present); ++kind) {
      if (!present[kind]) continue;
      WriteLegendItem(
          kKindClasses[kind],
          std::string(kKindSigns[kind]) + std::string(kKindTexts[kind]), &x);
    }
    if (has_inlined) WriteLegendItem("o i", "↳ inlined", &x);
    if (has_guessed) WriteLegendItem("o g", "? guessed", &x);
  }

  // At *x, which becomes where the next one stands.
  void WriteLegendItem(std::string_view classes, const std::string& text,
                       double* x) {
    constexpr int kBaseline = 54;
    out_ += "<rect class=\"" + std::string(classes) + "\" " +
            Box(*x, kBaseline - 9, 11, 11) + "/><text x=\"" +
            Formatted("%.1f", *x + 16) + "\" y=\"" + std::to_string(kBaseline) +
            "\">" + EscapeXml(text) + "</text>\n";
    *x += 16 + (static_cast<double>(CharCount(text)) + 2) * kCharWidth;
  }

  void WriteNode(size_t node) {
    constexpr double kRoom = kWidth - 2 * kMargin;
    const double x = kMargin + layout_.left(node) * kRoom;
    const double width = layout_.width(node) * kRoom;
    const int y = kHeading + static_cast<int>(tree_.nodes[node].depth) * kRow;
    const std::string signs = SignsOf(node);
    out_ += "<g><title>" + EscapeXml(signs + NameOf(node)) + "\n" +
            FiguresOf(node) + PlaceOf(node) + "</title><rect class=\"" +
            ClassOf(node) + "\" " + Box(x, y, width, kRow - 1) + "/>";
    const bool is_inlined = tree_.nodes[node].inlined;
    if (is_inlined && width > 4) {
      out_ += "<path class=\"b\" d=\"M" + Formatted("%.1f ", x + 1) +
              std::to_string(y) + "v" + std::to_string(kRow - 1) + "\"/>";
    }
    const double room =
        (width - 6) / kCharWidth - static_cast<double>(CharCount(signs));
    if (room >= 4) {
      out_ += std::string("<text") + (is_inlined ? " class=\"i\"" : "") +
              " x=\"" + Formatted("%.1f", x + 4) + "\" y=\"" +
              std::to_string(y + 12) + "\">" + signs +
              NameIn(node, static_cast<size_t>(room)) + "</text>";
    }
    out_ += "</g>\n";
  }

  const StackFrames& frames_;
  const FlameFacts& facts_;
  const FlameTree& tree_;
  const FlameLayout layout_;
  const bool is_difference_;
  const DiffSums sums_;
  const std::string_view unit_;
  std::string out_;
  std::vector<std::pair<int64_t, std::string_view>> modules_;  // -self, name
  absl::flat_hash_map<std::string_view, std::string> colors_;  // CSS class
};

}  // namespace

absl::Status WriteFlameSvg(const Profile& profile, std::string_view value,
                           std::ostream& out) {
  absl::StatusOr<size_t> index = SampleTypeIndex(profile, value);
  if (!index.ok()) return index.status();
  const SampleGroups groups = GroupSamples(profile, *index);
  const StackFrames frames(profile, groups.is_difference);
  const FlameFacts facts = FactsOf(profile, *index, groups.is_difference);
  std::string svg;
  for (size_t max_nodes = kMaxNodes; max_nodes > 0; max_nodes /= 2) {
    const FlameTree tree =
        BuildFlameTree(profile, frames, groups, *index,
                       {.max_nodes = max_nodes, .min_share = kMinShare});
    svg = SvgWriter({profile, *index, groups, frames, facts}, tree).Write();
    if (svg.size() <= kMaxBytes) break;
  }
  out << svg;
  return absl::OkStatus();
}

}  // namespace unspool::exporters
