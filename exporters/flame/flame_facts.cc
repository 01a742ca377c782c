#include "exporters/flame/flame_facts.h"

#include <cstdint>
#include <ctime>

#include "exporters/frame_names.h"
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

}  // namespace

FlameFacts FactsOf(const Profile& profile, size_t value_index) {
  const ValueType& type = profile.sample_types[value_index];
  const std::string program = MainProgram(profile);
  const auto command = profile.FindComment("unspool.command");
  FlameFacts facts = {
      {"title", command ? std::string(*command) : program},
      {"program", program},
      {"type", std::string(profile.strings[type.type])},
      {"unit", std::string(profile.strings[type.unit])},
  };
  AddCount(profile, "samples", "samples", facts);
  if (profile.FindComment("unspool.threads") != "1") {
    AddCount(profile, "threads", "threads", facts);
  }
  AddCount(profile, "lost", "samples lost", facts);
  AddCount(profile, "truncated", "stacks cut short", facts);
  if (profile.time_ns > 0) {
    facts.emplace_back("time", TimeText(profile.time_ns));
  }
  if (profile.duration_ns > 0) {
    facts.emplace_back("duration", "in " + FormatValue(profile.duration_ns,
                                                       "nanoseconds", "auto"));
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
