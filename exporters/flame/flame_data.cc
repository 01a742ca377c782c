#include "exporters/flame/flame_data.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace unspool::exporters {
namespace {

constexpr size_t kTextLimits[] = {SIZE_MAX, 1024, 512, 256, 128, 64};

// LEB128, as DWARF 5 §7.6 has it.
void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(value | 0x80);
  }
  out += static_cast<char>(value);
}

void AppendText(std::string& out, std::string_view text) {
  AppendVarint(out, text.size());
  out += text;
}

// Numbers in order of first use. Views have to outlive it.
class Texts {
 public:
  Texts() { Number(""); }

  uint32_t Number(std::string_view text) {
    const auto [entry, is_new] =
        numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return entry->second;
  }

  void AppendTo(std::string& out, size_t max_bytes) const {
    size_t limit = 0;
    for (size_t candidate : kTextLimits) {
      limit = candidate;
      if (Size(limit) <= max_bytes) break;
    }
    AppendVarint(out, texts_.size());
    for (std::string_view text : texts_) {
      AppendText(out, ShortenMiddle(text, limit));
    }
  }

 private:
  size_t Size(size_t limit) const {
    size_t size = 0;
    for (std::string_view text : texts_) size += std::min(text.size(), limit);
    return size;
  }

  absl::flat_hash_map<std::string_view, uint32_t> numbers_;
  std::vector<std::string_view> texts_;
};

// Old numbers that are used, to new ones in order of first use.
class Renumbering {
 public:
  uint32_t operator()(uint32_t old) {
    const auto [entry, is_new] =
        numbers_.try_emplace(old, static_cast<uint32_t>(used_.size()));
    if (is_new) used_.push_back(old);
    return entry->second;
  }
  const std::vector<uint32_t>& used() const { return used_; }

 private:
  absl::flat_hash_map<uint32_t, uint32_t> numbers_;
  std::vector<uint32_t> used_;
};

// One column after the other: neighbours of one column resemble each other,
// which is what gzip lives on.
std::string EncodeTree(const FlameTree& tree, Renumbering& frames,
                       Renumbering& places) {
  std::string frame_column, place_column, up_column, count_column, group_column,
      value_column;
  frames(StackFrames::kFolded);
  uint32_t last_depth = 0;
  for (const FlameNode& node : tree.nodes) {
    const bool is_folded = node.frame == StackFrames::kFolded;
    AppendVarint(frame_column, frames(node.frame));
    AppendVarint(place_column, is_folded ? node.place : places(node.place));
    AppendVarint(up_column, last_depth + 1 - node.depth);
    last_depth = node.depth;
    AppendVarint(count_column,
                 uint64_t{node.value_count} << 1 | uint64_t{node.inlined});
    for (size_t i = 0; i < node.value_count; ++i) {
      const FlameValue& value = tree.values[node.first_value + i];
      AppendVarint(group_column, value.group);
      AppendVarint(value_column, static_cast<uint64_t>(value.value));
    }
  }
  std::string out;
  AppendVarint(out, tree.nodes.size());
  return out + frame_column + place_column + up_column + count_column +
         group_column + value_column;
}

}  // namespace

std::string EncodeFlameData(const FlameFacts& facts, const StackFrames& frames,
                            const SampleGroups& groups, const FlameTree& tree,
                            size_t max_text_bytes) {
  Renumbering used_frames, used_places;
  const std::string nodes = EncodeTree(tree, used_frames, used_places);
  Texts texts;
  std::string tables;
  AppendVarint(tables, groups.threads.size());
  for (const std::string& thread : groups.threads) {
    AppendVarint(tables, texts.Number(thread));
  }
  AppendVarint(tables, groups.groups.size());
  for (const SampleGroup& group : groups.groups) {
    AppendVarint(tables, group.thread);
    AppendVarint(tables, uint64_t{group.guessed} | uint64_t{group.before} << 1 |
                             uint64_t{group.waiting} << 2);
  }
  AppendVarint(tables, used_frames.used().size());
  for (uint32_t number : used_frames.used()) {
    const StackFrames::Frame& frame = frames.frames()[number];
    AppendVarint(tables, texts.Number(frame.name));
    AppendVarint(tables, texts.Number(frame.module));
    AppendVarint(tables, static_cast<uint64_t>(frame.kind));
  }
  AppendVarint(tables, used_places.used().size());
  for (uint32_t number : used_places.used()) {
    const StackFrames::Place& place = frames.places()[number];
    AppendVarint(tables, texts.Number(place.file));
    AppendVarint(tables,
                 place.line < 0 ? 0 : static_cast<uint64_t>(place.line));
  }
  std::string out;
  AppendVarint(out, facts.size());
  for (const auto& [key, text] : facts) {
    AppendText(out, key);
    AppendText(out, text);
  }
  texts.AppendTo(out, max_text_bytes);
  return out + tables + nodes;
}

}  // namespace unspool::exporters
