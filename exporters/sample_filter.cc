#include "exporters/sample_filter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "exporters/name_pattern.h"

namespace unspool::exporters {
namespace {

absl::StatusOr<std::optional<NamePattern>> Optional(
    const std::string& pattern) {
  if (pattern.empty()) return std::nullopt;
  absl::StatusOr<NamePattern> created = NamePattern::Create(pattern);
  if (!created.ok()) return created.status();
  return std::optional<NamePattern>(*std::move(created));
}

// The strings that a pattern finds, each tried once.
class StringMatcher {
 public:
  StringMatcher(const Profile& profile, const NamePattern& pattern)
      : profile_(profile), found_(profile.strings.size()) {
    for (StringId id = 0; id < found_.size(); ++id) {
      found_[id] = pattern.Finds(profile.strings[id]);
    }
  }

  bool Matches(const Location& location) const {
    for (const Line& line : profile_.lines(location)) {
      const Function& function = profile_.functions[line.function];
      if (found_[function.name] || found_[function.filename]) return true;
    }
    return location.mapping != kNoIndex &&
           found_[profile_.mappings[location.mapping].filename];
  }

 private:
  const Profile& profile_;
  std::vector<bool> found_;  // by string
};

// Key, and string or number.
std::pair<StringId, int64_t> Content(const Label& label) {
  return {label.key, label.str != 0 ? label.str : label.num};
}

// The labels that is_wanted(key, text) chooses, each asked for once.
template <typename IsWanted>
std::set<std::pair<StringId, int64_t>> CollectLabels(const Profile& profile,
                                                     IsWanted is_wanted) {
  std::set<std::pair<StringId, int64_t>> chosen;
  absl::flat_hash_set<std::pair<StringId, int64_t>> tried;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    for (const Label& label : profile.sample(i).labels) {
      if (!tried.insert(Content(label)).second) continue;
      const std::string text = label.str != 0
                                   ? std::string(profile.strings[label.str])
                                   : std::to_string(label.num);
      if (is_wanted(profile.strings[label.key], text)) {
        chosen.insert(Content(label));
      }
    }
  }
  return chosen;
}

}  // namespace

absl::StatusOr<SampleFilter> SampleFilter::Create(
    const Profile& profile, const FilterRequest& request) {
  SampleFilter filter;
  absl::Status status = filter.MatchLocations(profile, request);
  if (status.ok()) status = filter.MatchThreads(profile, request.thread);
  if (status.ok()) status = filter.MatchTag(profile, request.tag);
  if (!status.ok()) return status;
  if (filter.matches_.empty() && filter.labels_.empty()) return filter;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    if (filter.Keeps(profile.sample(i))) return filter;
  }
  return absl::NotFoundError("no sample matches");
}

absl::Status SampleFilter::MatchLocations(const Profile& profile,
                                          const FilterRequest& request) {
  const auto focus = Optional(request.focus);
  if (!focus.ok()) return focus.status();
  const auto ignore = Optional(request.ignore);
  if (!ignore.ok()) return ignore.status();
  if (!focus->has_value() && !ignore->has_value()) return absl::OkStatus();
  matches_.assign(profile.locations.size(),
                  focus->has_value() ? Match::kNone : Match::kFocus);
  const auto mark = [&](const std::optional<NamePattern>& pattern,
                        Match match) {
    if (!pattern.has_value()) return;
    const StringMatcher matcher(profile, *pattern);
    for (size_t i = 0; i < matches_.size(); ++i) {
      if (matcher.Matches(profile.locations[i])) matches_[i] = match;
    }
  };
  mark(*focus, Match::kFocus);
  mark(*ignore, Match::kIgnore);
  return absl::OkStatus();
}

absl::Status SampleFilter::MatchTag(const Profile& profile,
                                    const std::string& tag) {
  if (tag.empty()) return absl::OkStatus();
  const size_t equals = tag.find('=');
  if (equals == tag.npos || equals == 0) {
    return absl::InvalidArgumentError("'" + tag +
                                      "' is no label: give KEY=PATTERN, as in "
                                      "state=waiting");
  }
  const auto pattern = NamePattern::Create(tag.substr(equals + 1));
  if (!pattern.ok()) return pattern.status();
  labels_.push_back(
      CollectLabels(profile, [&](std::string_view key, std::string_view text) {
        return key == std::string_view(tag).substr(0, equals) &&
               pattern->Finds(text);
      }));
  return absl::OkStatus();
}

absl::Status SampleFilter::MatchThreads(const Profile& profile,
                                        const std::string& thread) {
  const auto pattern = Optional(thread);
  if (!pattern.ok()) return pattern.status();
  if (!pattern->has_value()) return absl::OkStatus();
  labels_.push_back(
      CollectLabels(profile, [&](std::string_view key, std::string_view text) {
        return (key == "thread" || key == "tid") && (*pattern)->Matches(text);
      }));
  return absl::OkStatus();
}

bool SampleFilter::Keeps(const Sample& sample) const {
  for (const Labels& wanted : labels_) {
    if (std::ranges::none_of(sample.labels, [&wanted](const Label& label) {
          return wanted.contains(Content(label));
        })) {
      return false;
    }
  }
  if (matches_.empty()) return true;
  bool is_focused = false;
  for (uint32_t location : sample.locations) {
    if (matches_[location] == Match::kIgnore) return false;
    if (matches_[location] == Match::kFocus) is_focused = true;
  }
  return is_focused;
}

}  // namespace unspool::exporters
