// The flame graph as one HTML file: page/ around the profile's data.

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "exporters/export.h"
#include "exporters/flame/flame_data.h"
#include "exporters/flame/flame_facts.h"
#include "exporters/flame/flame_tree.h"
#include "exporters/flame/sample_groups.h"
#include "exporters/flame/stack_frames.h"
#include "exporters/gzip.h"
#include "exporters/sample_value.h"

extern "C" {
extern const char unspool_flame_html[], unspool_flame_html_end[];
extern const char unspool_flame_css[], unspool_flame_css_end[];
extern const char unspool_flame_js[], unspool_flame_js_end[];
}

namespace unspool::exporters {
namespace {

// Enough for every frame that a window can show at any zoom of a real profile;
// a page of this size opens in a fraction of a second.
constexpr size_t kMaxNodes = size_t{1} << 18;
constexpr size_t kMaxTextBytes = size_t{2} << 20;
// Of the data in base64; the page around it has 80 kB.
constexpr size_t kMaxDataBytes = 4'500'000;

// Base64 of gzip: readable by every browser's own means from within HTML.
std::string EncodedData(const Profile& profile, size_t value_index) {
  const SampleGroups groups = GroupSamples(profile, value_index);
  const StackFrames frames(profile, groups.is_difference);
  const FlameFacts facts = FactsOf(profile, value_index, groups.is_difference);
  std::string data;
  for (size_t max_nodes = kMaxNodes; max_nodes > 0; max_nodes /= 2) {
    const FlameTree tree = BuildFlameTree(profile, frames, groups, value_index,
                                          {.max_nodes = max_nodes});
    data = absl::Base64Escape(
        Gzip(EncodeFlameData(facts, frames, groups, tree, kMaxTextBytes)));
    if (data.size() <= kMaxDataBytes) break;
  }
  return data;
}

// Writes `text` up to the mark and returns what stands behind it.
// Precondition: the mark is there, as page.html is ours.
std::string_view WriteUpTo(std::string_view text, std::string_view mark,
                           std::ostream& out) {
  const size_t at = text.find(mark);
  out << text.substr(0, at);
  return text.substr(at + mark.size());
}

}  // namespace

absl::Status WriteFlameHtml(const Profile& profile, std::string_view value,
                            std::ostream& out) {
  absl::StatusOr<size_t> index = SampleTypeIndex(profile, value);
  if (!index.ok()) return index.status();
  std::string_view rest(unspool_flame_html, unspool_flame_html_end);
  rest = WriteUpTo(rest, "@CSS@", out);
  out << std::string_view(unspool_flame_css, unspool_flame_css_end);
  rest = WriteUpTo(rest, "@DATA@", out);
  out << EncodedData(profile, *index);
  rest = WriteUpTo(rest, "@JS@", out);
  out << std::string_view(unspool_flame_js, unspool_flame_js_end) << rest;
  return absl::OkStatus();
}

}  // namespace unspool::exporters
