#include "exporters/flame/flame_facts.h"

#include <cstdint>
#include <ctime>
#include <optional>

#include "exporters/frame_names.h"
#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr size_t kMaxFactBytes = 512;

// "2026-10-09 15:04 UTC"
std::string TimeText(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  struct tm utc = {};
  char text[64] = "";
  if (gmtime_r(&seconds, &utc) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &utc);
  }
  return text;
}

std::string MainProgram(const Profile& profile) {
  if (profile.mappings.empty()) return "";
  return std::string(BaseName(profile.strings[profile.mappings[0].filename]));
}

// "7 words" from a comment of ours, unless it is absent or 0.
void AddCount(const Profile& profile, std::string_view key,
              std::string_view words, FlameFacts& facts) {
  const auto count = profile.FindComment("unspool." + std::string(key));
  if (!count || *count == "0") return;
  facts.emplace_back(key, std::string(*count) + " " + std::string(words));
}

// The command line, of a difference both if they are not the same.
std::string TitleOf(const Profile& profile, bool is_difference) {
  constexpr std::string_view kKey = "unspool.command=";
  std::string title;
  for (StringId comment : profile.comments) {
    std::string_view text = profile.strings[comment];
    if (!text.starts_with(kKey)) continue;
    text.remove_prefix(kKey.size());
    if (!title.empty()) {
      return title + " → " + ShortenMiddle(text, kMaxFactBytes / 2 - 8);
    }
    if (!is_difference) return std::string(text);
    title = ShortenMiddle(text, kMaxFactBytes / 2);
  }
  return title.empty() ? MainProgram(profile) : title;
}

std::string SumsText(const Profile& profile, size_t value_index) {
  const std::optional<DiffSums> sums = FindDiffSums(profile, value_index);
  if (!sums) return "";
  return std::to_string(sums->base) + " " + std::to_string(sums->profile);
}

// What holds of one recording.
void AddRunFacts(const Profile& profile, FlameFacts& facts) {
  AddCount(profile, "samples", "samples", facts);
  if (profile.FindComment("unspool.threads") != "1") {
    AddCount(profile, "threads", "threads", facts);
  }
  if (profile.duration_ns > 0) {
    facts.emplace_back("duration", "in " + FormatValue(profile.duration_ns,
                                                       "nanoseconds", "auto"));
  }
}

}  // namespace

FlameFacts FactsOf(const Profile& profile, size_t value_index,
                   bool is_difference) {
  const ValueType& type = profile.sample_types[value_index];
  FlameFacts facts = {
      {"title", TitleOf(profile, is_difference)},
      {"program", MainProgram(profile)},
      {"type", std::string(profile.strings[type.type])},
      {"unit", std::string(profile.strings[type.unit])},
  };
  if (is_difference) {
    facts.emplace_back("difference", SumsText(profile, value_index));
  } else {
    AddRunFacts(profile, facts);
  }
  AddCount(profile, "lost", "samples lost", facts);
  AddCount(profile, "truncated", "stacks cut short", facts);
  if (profile.time_ns > 0) {
    facts.emplace_back("time", TimeText(profile.time_ns));
  }
  for (auto& [key, text] : facts) text = ShortenMiddle(text, kMaxFactBytes);
  return facts;
}

std::string ShortenMiddle(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  const auto is_continuation = [text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t head = (max_bytes - kEllipsis.size()) * 2 / 3;
  size_t tail = text.size() - (max_bytes - kEllipsis.size() - head);
  // A character has at most three continuation bytes; other bytes are no UTF-8.
  for (int i = 0; i < 3 && is_continuation(head); ++i) --head;
  for (int i = 0; i < 3 && is_continuation(tail); ++i) ++tail;
  std::string out(text.substr(0, head));
  out += kEllipsis;
  return out += text.substr(tail);
}

}  // namespace unspool::exporters
