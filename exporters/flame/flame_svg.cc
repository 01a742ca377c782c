// The flame graph as a plain SVG (1.1, with CSS): rectangles and text, a
// <title> as tooltip, light or dark as its reader prefers. No script.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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
#include "exporters/flame/flame_tree.h"
#include "exporters/flame/sample_groups.h"
#include "exporters/flame/stack_frames.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr int kWidth = 1200;
constexpr int kMargin = 10;
constexpr int kRow = 17;
constexpr int kHeading = 44;
constexpr double kCharWidth = 6.65;  // of a monospace font of 11 px
constexpr size_t kMaxNodes = 8000;
constexpr size_t kMaxBytes = 4'500'000;
constexpr double kMinShare = 0.001;
constexpr size_t kMaxNameBytes = 160;
constexpr size_t kModuleColors = 8;

constexpr std::string_view kStyle = R"css(<style>
svg{background:#fdfcfa;color:#33291f}
text{font:11px ui-monospace,Menlo,"DejaVu Sans Mono",monospace;fill:currentColor;pointer-events:none}
.h{font-size:14px;font-weight:bold}
rect{stroke:#fdfcfa;stroke-width:.6}
.i{font-style:italic}
.o{fill:#dedad5}.s{fill:url(#s)}
.m0{fill:#f3bd8c}.m1{fill:#a9d7f3}.m2{fill:#aee0b6}.m3{fill:#dcc3f1}
.m4{fill:#f6bcb4}.m5{fill:#9fdcd9}.m6{fill:#d9d38f}.m7{fill:#c0c8f4}
.u{fill:#f0a26e}.d{fill:#8fc0ea}
@media(prefers-color-scheme:dark){
svg{background:#1b1714;color:#f1ece6}rect{stroke:#1b1714}.o{fill:#3a3430}
.m0{fill:#85500f}.m1{fill:#07577c}.m2{fill:#1f6237}.m3{fill:#5f3f80}
.m4{fill:#843c35}.m5{fill:#00615f}.m6{fill:#5e5600}.m7{fill:#434f8d}
.u{fill:#94501d}.d{fill:#1d5b8d}}
</style>
<defs><pattern id="s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0H7V7H0Z" fill="#9a938c" opacity=".35"/><path d="M0 0V7" stroke="#8b837b"/></pattern></defs>
)css";

// Bytes of the character that `text` begins with, if it is UTF-8 and XML 1.0
// §2.2 allows it; else 0.
size_t CharSize(std::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4) return 0;
  uint32_t code = byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_allowed = code <= 0x10ffff && (code & 0xfffe) != 0xfffe;
  return code >= least && !is_surrogate && is_allowed ? size : 0;
}

// At most `max_chars` characters of it, as XML.
std::string Escaped(std::string_view text, size_t max_chars = SIZE_MAX) {
  std::string out;
  size_t chars = 0;
  while (!text.empty()) {
    const size_t size = CharSize(text);
    if (++chars == max_chars && text.size() > std::max<size_t>(size, 1)) {
      return out += "…";
    }
    if (size == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (text[0] == '&') {
      out += "&amp;";
    } else if (text[0] == '<') {
      out += "&lt;";
    } else if (text[0] == '>') {
      out += "&gt;";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

class SvgWriter {
 public:
  SvgWriter(const Profile& profile, const StackFrames& frames,
            const SampleGroups& groups, const FlameTree& tree,
            size_t value_index)
      : frames_(frames),
        tree_(tree),
        unit_(profile.strings[profile.sample_types[value_index].unit]) {
    SumUp(groups);
    PlaceNodes();
    ChooseColors();
  }

  std::string Write(const FlameFacts& facts) {
    uint32_t deepest = 0;
    for (const FlameNode& node : tree_.nodes) {
      deepest = std::max(deepest, node.depth);
    }
    height_ = kHeading + (static_cast<int>(deepest) + 1) * kRow + kMargin;
    const std::string width = std::to_string(kWidth);
    const std::string height = std::to_string(height_);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + width +
           " " + height + "\" width=\"" + width + "\" height=\"" + height +
           "\" role=\"img\" aria-labelledby=\"t\">\n";
    out_ += kStyle;
    WriteHeading(facts);
    for (size_t i = 0; i < tree_.nodes.size(); ++i) WriteNode(i);
    return std::move(out_) + "</svg>\n";
  }

 private:
  void SumUp(const SampleGroups& groups) {
    const size_t count = tree_.nodes.size();
    after_.resize(count);
    before_.resize(count);
    parent_.resize(count);
    std::vector<size_t> path;
    for (size_t i = 0; i < count; ++i) {
      const FlameNode& node = tree_.nodes[i];
      path.resize(node.depth);
      parent_[i] = path.empty() ? 0 : path.back();
      path.push_back(i);
      for (size_t k = 0; k < node.value_count; ++k) {
        const FlameValue& value = tree_.values[node.first_value + k];
        const bool before = groups.groups[value.group].before;
        int64_t& sum = before ? before_[i] : after_[i];
        sum = AddValues(sum, value.value);
      }
    }
    self_ = after_;
    for (size_t i = count; i-- > 1;) {
      after_[parent_[i]] = AddValues(after_[parent_[i]], after_[i]);
      before_[parent_[i]] = AddValues(before_[parent_[i]], before_[i]);
    }
    is_difference_ = before_[0] != 0;
  }

  double Share(const std::vector<int64_t>& values, size_t node) const {
    if (values[0] == 0) return 0;
    return static_cast<double>(values[node]) / static_cast<double>(values[0]);
  }

  // Share of the picture's width: of both profiles' shares the mean.
  double Width(size_t node) const {
    if (!is_difference_) return Share(after_, node);
    return (Share(after_, node) + Share(before_, node)) / 2;
  }

  double Change(size_t node) const {
    return Share(after_, node) - Share(before_, node);
  }

  void PlaceNodes() {
    left_.resize(tree_.nodes.size());
    std::vector<double> next(left_.size());
    for (size_t i = 1; i < left_.size(); ++i) {
      left_[i] = next[i] = next[parent_[i]];
      next[parent_[i]] += Width(i);
    }
  }

  // The heaviest modules have a color of their own.
  void ChooseColors() {
    absl::flat_hash_map<std::string_view, int64_t> self;
    for (size_t i = 1; i < tree_.nodes.size(); ++i) {
      const StackFrames::Frame& frame = FrameOf(i);
      if (frame.kind > FrameKind::kKernel) continue;
      int64_t& sum = self[frame.module];
      sum = AddValues(sum, self_[i]);
    }
    std::vector<std::pair<int64_t, std::string_view>> ranked;
    for (const auto& [module, sum] : self) ranked.push_back({-sum, module});
    std::ranges::sort(ranked);
    ranked.resize(std::min(ranked.size(), kModuleColors));
    for (const auto& [sum, module] : ranked) {
      colors_.emplace(module, "m" + std::to_string(colors_.size()));
    }
  }

  const StackFrames::Frame& FrameOf(size_t node) const {
    return frames_.frames()[tree_.nodes[node].frame];
  }

  std::string ClassOf(size_t node) const {
    const StackFrames::Frame& frame = FrameOf(node);
    if (node == 0 || frame.kind == FrameKind::kFolded) return "o";
    if (frame.kind > FrameKind::kKernel) return "s";
    if (is_difference_) {
      return Change(node) > 0.001 ? "u" : Change(node) < -0.001 ? "d" : "o";
    }
    const auto color = colors_.find(frame.module);
    return color == colors_.end() ? "o" : color->second;
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

  std::string ChangeText(size_t node) const {
    char text[32];
    std::snprintf(text, sizeof(text), "%+.2f%%", Change(node) * 100);
    return text;
  }

  // In front of the name: what color alone must not say.
  std::string SignsOf(size_t node) const {
    std::string signs;
    if (node == 0) return signs;
    if (FrameOf(node).kind == FrameKind::kKernel) signs += "◆ ";
    if (tree_.nodes[node].inlined) signs += "↳ ";
    if (is_difference_) signs += ChangeText(node) + " ";
    return signs;
  }

  std::string FiguresOf(size_t node) const {
    char percent[32];
    std::string text;
    if (is_difference_) {
      std::snprintf(percent, sizeof(percent), "%.2f%% → %.2f%%",
                    Share(before_, node) * 100, Share(after_, node) * 100);
      return std::string(percent) + ", " + ChangeText(node);
    }
    std::snprintf(percent, sizeof(percent), "%.2f%%",
                  Share(after_, node) * 100);
    text = FormatValue(after_[node], unit_, "auto") + " (" + percent + ")";
    if (self_[node] != 0) {
      text += ", self " + FormatValue(self_[node], unit_, "auto");
    }
    return text;
  }

  std::string PlaceOf(size_t node) const {
    const StackFrames::Frame& frame = FrameOf(node);
    if (node == 0 || frame.kind == FrameKind::kFolded) return "";
    const StackFrames::Place& place = frames_.places()[tree_.nodes[node].place];
    std::string text;
    if (!place.file.empty()) {
      text += "\n" + Escaped(ShortenMiddle(place.file, kMaxNameBytes));
      if (place.line > 0) text += ":" + std::to_string(place.line);
    }
    if (!frame.module.empty()) {
      text += "\n" + Escaped(ShortenMiddle(frame.module, kMaxNameBytes));
    }
    return text;
  }

  void WriteHeading(const FlameFacts& facts) {
    std::string line;
    for (const auto& [key, text] : facts) {
      if (key == "title") {
        out_ += "<text id=\"t\" class=\"h\" x=\"10\" y=\"19\">" +
                Escaped(text, 130) + "</text>\n";
      } else if (key != "program" && key != "type" && key != "unit") {
        line += " · " + text;
      }
    }
    out_ += "<text x=\"10\" y=\"36\">" + Escaped(FiguresOf(0) + line, 175) +
            "</text>\n";
  }

  void WriteNode(size_t node) {
    constexpr double kRoom = kWidth - 2 * kMargin;
    const double x = kMargin + left_[node] * kRoom;
    const double width = Width(node) * kRoom;
    const int y = height_ - kMargin -
                  (static_cast<int>(tree_.nodes[node].depth) + 1) * kRow;
    char box[160];
    std::snprintf(box, sizeof(box),
                  "\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", x, y,
                  width, kRow - 1);
    const std::string name = NameOf(node);
    out_ += "<g><title>" + Escaped(SignsOf(node) + name) + "\n" +
            FiguresOf(node) + PlaceOf(node) + "</title><rect class=\"" +
            ClassOf(node) + box;
    const double room = (width - 6) / kCharWidth;
    if (room >= 3) {
      std::snprintf(box, sizeof(box), "<text%s x=\"%.1f\" y=\"%d\">",
                    tree_.nodes[node].inlined ? " class=\"i\"" : "", x + 3,
                    y + 12);
      out_ += box + Escaped(SignsOf(node) + name, static_cast<size_t>(room)) +
              "</text>";
    }
    out_ += "</g>\n";
  }

  const StackFrames& frames_;
  const FlameTree& tree_;
  const std::string_view unit_;
  int height_ = 0;
  bool is_difference_ = false;
  std::string out_;
  absl::flat_hash_map<std::string_view, std::string> colors_;  // CSS class
  // By node:
  std::vector<int64_t> after_, before_, self_;
  std::vector<size_t> parent_;
  std::vector<double> left_;  // share of the picture's width
};

}  // namespace

absl::Status WriteFlameSvg(const Profile& profile, std::string_view value,
                           std::ostream& out) {
  absl::StatusOr<size_t> index = SampleTypeIndex(profile, value);
  if (!index.ok()) return index.status();
  const StackFrames frames(profile);
  const SampleGroups groups = GroupSamples(profile, *index);
  const FlameFacts facts = FactsOf(profile, *index);
  std::string svg;
  for (size_t max_nodes = kMaxNodes; max_nodes > 0; max_nodes /= 2) {
    const FlameTree tree =
        BuildFlameTree(profile, frames, groups, *index,
                       {.max_nodes = max_nodes, .min_share = kMinShare});
    svg = SvgWriter(profile, frames, groups, tree, *index).Write(facts);
    if (svg.size() <= kMaxBytes) break;
  }
  out << svg;
  return absl::OkStatus();
}

}  // namespace unspool::exporters
