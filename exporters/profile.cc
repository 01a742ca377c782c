#include "exporters/profile.h"

#include <algorithm>

#include "exporters/sample_value.h"

namespace unspool::exporters {

StringId StringTable::Intern(std::string_view text) {
  auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const StringId id = static_cast<StringId>(strings_.size());
  ids_.emplace(strings_.emplace_back(text), id);
  return id;
}

Sample Profile::sample(size_t index) const {
  const SampleEntry& entry = samples_[index];
  const size_t value_count = sample_types.size();
  return {
      .locations = std::span(sample_locations_)
                       .subspan(entry.first_location, entry.location_count),
      .values =
          std::span(sample_values_).subspan(index * value_count, value_count),
      .labels = std::span(sample_labels_)
                    .subspan(entry.first_label, entry.label_count),
  };
}

void Profile::AddSample(std::span<const uint32_t> sample_locations,
                        std::span<const int64_t> values,
                        std::span<const Label> labels) {
  SampleEntry entry = {
      .first_location = sample_locations_.size(),
      .first_label = sample_labels_.size(),
      .location_count = static_cast<uint32_t>(sample_locations.size()),
      .label_count = static_cast<uint32_t>(labels.size()),
  };
  sample_locations_.insert(sample_locations_.end(), sample_locations.begin(),
                           sample_locations.end());
  sample_values_.insert(sample_values_.end(), values.begin(), values.end());
  // The samples of a thread come one after the other, with the same labels.
  if (!samples_.empty() &&
      std::ranges::equal(labels, sample(samples_.size() - 1).labels)) {
    entry.first_label = samples_.back().first_label;
  } else {
    sample_labels_.insert(sample_labels_.end(), labels.begin(), labels.end());
  }
  samples_.push_back(entry);
}

void Profile::AddToSample(size_t index, std::span<const int64_t> values) {
  int64_t* sums = &sample_values_[index * values.size()];
  for (size_t i = 0; i < values.size(); ++i) {
    sums[i] = AddValues(sums[i], values[i]);
  }
}

void Profile::SetLocation(size_t index, size_t position, uint32_t location) {
  sample_locations_[samples_[index].first_location + position] = location;
}

std::span<const Line> Profile::lines(const Location& location) const {
  return std::span(lines_).subspan(location.first_line, location.line_count);
}

void Profile::SetLines(Location& location, std::span<const Line> lines) {
  location.first_line = lines_.size();
  location.line_count = static_cast<uint32_t>(lines.size());
  lines_.insert(lines_.end(), lines.begin(), lines.end());
}

void Profile::UpdateMappingFlags() {
  std::vector<bool> is_new(mappings.size(), true);
  for (const Location& location : locations) {
    if (location.mapping == kNoIndex) continue;
    Mapping& mapping = mappings[location.mapping];
    if (is_new[location.mapping]) {
      mapping.has_functions = true;
      mapping.has_filenames = false;
      mapping.has_line_numbers = false;
      mapping.has_inline_frames = false;
      is_new[location.mapping] = false;
    }
    if (location.line_count == 0) mapping.has_functions = false;
    if (location.line_count > 1) mapping.has_inline_frames = true;
    for (const Line& line : lines(location)) {
      const Function& function = functions[line.function];
      if (function.name == 0) mapping.has_functions = false;
      if (function.filename != 0) mapping.has_filenames = true;
      if (line.line != 0) mapping.has_line_numbers = true;
    }
  }
}

void Profile::AddComment(std::string_view key, std::string_view value) {
  comments.push_back(
      strings.Intern(std::string(key) + "=" + std::string(value)));
}

std::optional<std::string_view> Profile::FindComment(
    std::string_view key) const {
  for (StringId comment : comments) {
    const std::string_view text = strings[comment];
    if (text.starts_with(key) && text.substr(key.size()).starts_with('=')) {
      return text.substr(key.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<size_t> Profile::FindSampleType(std::string_view type) const {
  if (type.empty()) type = strings[default_sample_type];
  for (size_t i = 0; i < sample_types.size(); ++i) {
    if (strings[sample_types[i].type] == type) return i;
  }
  if (!type.empty() || sample_types.empty()) return std::nullopt;
  return sample_types.size() - 1;
}

}  // namespace unspool::exporters
