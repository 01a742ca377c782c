#include "exporters/merge.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr uint64_t kPageBytes = 4096;

// Elements of a vector, found by what they hold.
class ContentIndex {
 public:
  // The index of an element with this hash for which is_equal(index) holds;
  // kNoIndex if there is none.
  template <typename IsEqual>
  uint32_t Find(uint64_t hash, IsEqual is_equal) const {
    const auto found = first_.find(hash);
    uint32_t index = found == first_.end() ? kNoIndex : found->second;
    while (index != kNoIndex && !is_equal(index)) index = next_[index];
    return index;
  }

  // Precondition: elements are added in the order of their indices.
  void Add(uint64_t hash) {
    const auto index = static_cast<uint32_t>(next_.size());
    const auto [entry, is_new] = first_.try_emplace(hash, index);
    next_.push_back(is_new ? kNoIndex : entry->second);
    entry->second = index;
  }

 private:
  absl::flat_hash_map<uint64_t, uint32_t> first_;
  std::vector<uint32_t> next_;  // with the same hash
};

// A segment of a file, whether it was given exactly or in whole pages.
struct SegmentKey {
  StringId file;  // build id or name
  uint64_t first_page;
  uint64_t page_limit;
  uint64_t address;  // 0 where the file says enough
  bool operator==(const SegmentKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const SegmentKey& key) {
    return H::combine(std::move(h), key.file, key.first_page, key.page_limit,
                      key.address);
  }
};

std::string DescribeType(const Profile& profile, const ValueType& type) {
  return std::string(profile.strings[type.type]) + "/" +
         std::string(profile.strings[type.unit]);
}

std::string DescribeSampleTypes(const Profile& profile) {
  std::string text;
  for (const ValueType& type : profile.sample_types) {
    text += (text.empty() ? "" : ", ") + DescribeType(profile, type);
  }
  return text;
}

// Those of `b` are said first: it is what does not fit.
absl::Status CheckCompatible(const Profile& a, const Profile& b) {
  const auto describe = [&](std::string_view what, const std::string& of_a,
                            const std::string& of_b) {
    return of_a == of_b
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     std::string(what) + " differ: " + of_b + " and " + of_a);
  };
  absl::Status status =
      describe("sample types", DescribeSampleTypes(a), DescribeSampleTypes(b));
  if (!status.ok()) return status;
  return describe("period types", DescribeType(a, a.period_type),
                  DescribeType(b, b.period_type));
}

// Comments that count something in one recording.
bool IsCount(std::string_view key) {
  for (std::string_view known :
       {"merged_ticks", "cpu_ns", "images", "threads", "samples", "truncated",
        "lost", "audited", "audit_differs"}) {
    if (key == known) return true;
  }
  return key.starts_with("truncated.") || key.starts_with("lost.") ||
         key.starts_with("audit_differs.");
}

struct Count {
  std::string_view key;  // with "unspool."
  int64_t value;
};

// What a comment counts, if it does.
std::optional<Count> ParseCount(std::string_view comment) {
  constexpr std::string_view kOurs = "unspool.";
  const size_t equals = comment.find('=');
  if (!comment.starts_with(kOurs) || equals == comment.npos) return {};
  Count count = {.key = comment.substr(0, equals), .value = 0};
  if (!IsCount(count.key.substr(kOurs.size()))) return {};
  const char* end = comment.data() + comment.size();
  const auto [rest, error] =
      std::from_chars(comment.data() + equals + 1, end, count.value);
  if (error != std::errc() || rest != end) return {};
  return count;
}

int64_t Scale(int64_t value, double ratio) {
  if (ratio == 1) return value;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const double scaled = std::round(static_cast<double>(value) * ratio);
  if (scaled >= kLimit) return std::numeric_limits<int64_t>::max();
  if (scaled <= -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(scaled);
}

bool LabelPrecedes(const Label& a, const Label& b) {
  return std::tie(a.key, a.str, a.num, a.num_unit) <
         std::tie(b.key, b.str, b.num, b.num_unit);
}

}  // namespace

// The sum, with an index of each of its tables.
class Merger::Tables {
 public:
  absl::Status Add(const Profile& in, const Change& change) {
    if (is_first_) {
      StartWith(in);
    } else if (absl::Status status = CheckCompatible(sum_, in); !status.ok()) {
      return status;
    }
    is_first_ = false;
    AddHeader(in);
    Translation translation = {
        .in = in,
        .mappings = {},
        .functions = std::vector(in.functions.size(), kNoIndex),
        .locations = std::vector(in.locations.size(), kNoIndex)};
    for (const Mapping& mapping : in.mappings) {
      translation.mappings.push_back(AddMapping(in, mapping));
    }
    const Label label = {.key = sum_.strings.Intern(change.label_key),
                         .str = sum_.strings.Intern(change.label_text)};
    for (size_t i = 0; i < in.sample_count(); ++i) {
      AddSample(translation, in.sample(i), change.ratios, label);
    }
    return absl::OkStatus();
  }

  Profile Take() {
    sum_.UpdateMappingFlags();
    for (const auto& [key, value] : counts_) {
      sum_.AddComment(key, std::to_string(value));
    }
    return std::move(sum_);
  }

 private:
  // One input: where its elements are in the sum; kNoIndex: not asked yet.
  struct Translation {
    const Profile& in;
    std::vector<uint32_t> mappings;
    std::vector<uint32_t> functions;
    std::vector<uint32_t> locations;
  };

  StringId Text(const Profile& in, StringId id) {
    return sum_.strings.Intern(in.strings[id]);
  }

  ValueType Type(const Profile& in, const ValueType& type) {
    return {Text(in, type.type), Text(in, type.unit)};
  }

  void StartWith(const Profile& in) {
    for (const ValueType& type : in.sample_types) {
      sum_.sample_types.push_back(Type(in, type));
    }
    sum_.period_type = Type(in, in.period_type);
    sum_.drop_frames = Text(in, in.drop_frames);
    sum_.keep_frames = Text(in, in.keep_frames);
  }

  void AddHeader(const Profile& in) {
    if (sum_.default_sample_type == 0) {
      sum_.default_sample_type = Text(in, in.default_sample_type);
    }
    if (sum_.time_ns == 0 || (in.time_ns != 0 && in.time_ns < sum_.time_ns)) {
      sum_.time_ns = in.time_ns;
    }
    sum_.duration_ns = AddValues(sum_.duration_ns, in.duration_ns);
    sum_.period = std::max(sum_.period, in.period);
    for (StringId comment : in.comments) AddComment(in.strings[comment]);
  }

  void AddComment(std::string_view text) {
    if (const std::optional<Count> count = ParseCount(text)) {
      for (auto& [key, value] : counts_) {
        if (key == count->key) {
          value = AddValues(value, count->value);
          return;
        }
      }
      counts_.emplace_back(count->key, count->value);
      return;
    }
    const StringId comment = sum_.strings.Intern(text);
    if (comments_.insert(comment).second) sum_.comments.push_back(comment);
  }

  uint32_t AddMapping(const Profile& in, const Mapping& mapping) {
    const std::string_view name = in.strings[mapping.filename];
    const bool is_file =
        mapping.build_id != 0 ||
        !(name.empty() || name.starts_with('[') || name.starts_with("//"));
    const uint64_t size = mapping.memory_limit - mapping.memory_start;
    const SegmentKey key = {
        .file = Text(
            in, mapping.build_id != 0 ? mapping.build_id : mapping.filename),
        .first_page = mapping.file_offset / kPageBytes,
        .page_limit =
            (mapping.file_offset + size + kPageBytes - 1) / kPageBytes,
        .address = is_file ? 0 : mapping.memory_start,
    };
    const auto [entry, is_new] =
        mappings_.try_emplace(key, static_cast<uint32_t>(sum_.mappings.size()));
    if (is_new) {
      Mapping copy = mapping;
      copy.filename = Text(in, mapping.filename);
      copy.build_id = Text(in, mapping.build_id);
      sum_.mappings.push_back(copy);
    } else {
      Widen(sum_.mappings[entry->second], mapping);
    }
    return entry->second;
  }

  // One may give the segment exactly, the other in whole pages.
  static void Widen(Mapping& mapping, const Mapping& other) {
    if (other.file_offset < mapping.file_offset) {
      mapping.memory_start -= mapping.file_offset - other.file_offset;
      mapping.file_offset = other.file_offset;
    }
    const uint64_t limit = other.memory_limit - other.memory_start +
                           other.file_offset - mapping.file_offset +
                           mapping.memory_start;
    mapping.memory_limit = std::max(mapping.memory_limit, limit);
  }

  uint32_t AddFunction(Translation& translation, uint32_t index) {
    uint32_t& known = translation.functions[index];
    if (known != kNoIndex) return known;
    const Profile& in = translation.in;
    const Function& function = in.functions[index];
    const Function out = {.name = Text(in, function.name),
                          .system_name = Text(in, function.system_name),
                          .filename = Text(in, function.filename),
                          .start_line = function.start_line};
    const auto [entry, is_new] = functions_.try_emplace(
        {out.name, out.system_name, out.filename, out.start_line},
        static_cast<uint32_t>(sum_.functions.size()));
    if (is_new) sum_.functions.push_back(out);
    return known = entry->second;
  }

  uint32_t AddLocation(Translation& translation, uint32_t index) {
    uint32_t& known = translation.locations[index];
    if (known != kNoIndex) return known;
    const Profile& in = translation.in;
    Location out = in.locations[index];
    if (out.mapping != kNoIndex) {
      const Mapping& from = in.mappings[out.mapping];
      out.mapping = translation.mappings[out.mapping];
      const Mapping& to = sum_.mappings[out.mapping];
      out.address += to.memory_start - to.file_offset -
                     (from.memory_start - from.file_offset);
    }
    lines_.clear();
    uint64_t hash = absl::HashOf(out.address, out.mapping, out.is_folded);
    for (const Line& line : in.lines(in.locations[index])) {
      lines_.push_back({AddFunction(translation, line.function), line.line});
      hash = absl::HashOf(hash, lines_.back().function, line.line);
    }
    known = location_index_.Find(hash, [&](uint32_t other) {
      const Location& old = sum_.locations[other];
      return old.address == out.address && old.mapping == out.mapping &&
             old.is_folded == out.is_folded &&
             std::ranges::equal(sum_.lines(old), lines_);
    });
    if (known != kNoIndex) return known;
    location_index_.Add(hash);
    sum_.SetLines(out, lines_);
    sum_.locations.push_back(out);
    return known = static_cast<uint32_t>(sum_.locations.size() - 1);
  }

  void AddSample(Translation& translation, const Sample& sample,
                 std::span<const double> ratios, const Label& label) {
    const Profile& in = translation.in;
    stack_.clear();
    for (uint32_t location : sample.locations) {
      stack_.push_back(AddLocation(translation, location));
    }
    labels_.clear();
    for (const Label& l : sample.labels) {
      labels_.push_back(
          {Text(in, l.key), Text(in, l.str), l.num, Text(in, l.num_unit)});
    }
    if (label.key != 0) labels_.push_back(label);
    std::ranges::sort(labels_, LabelPrecedes);
    values_.assign(sample.values.begin(), sample.values.end());
    for (size_t i = 0; i < ratios.size(); ++i) {
      values_[i] = Scale(values_[i], ratios[i]);
    }
    uint64_t hash = absl::HashOf(absl::MakeConstSpan(stack_));
    for (const Label& l : labels_) {
      hash = absl::HashOf(hash, l.key, l.str, l.num, l.num_unit);
    }
    const uint32_t known = sample_index_.Find(hash, [this](uint32_t other) {
      const Sample old = sum_.sample(other);
      return std::ranges::equal(old.locations, stack_) &&
             std::ranges::equal(old.labels, labels_);
    });
    if (known != kNoIndex) return sum_.AddToSample(known, values_);
    sample_index_.Add(hash);
    sum_.AddSample(stack_, values_, labels_);
  }

  Profile sum_;
  bool is_first_ = true;
  std::vector<std::pair<std::string, int64_t>> counts_;  // a dozen
  absl::flat_hash_set<StringId> comments_;
  absl::flat_hash_map<SegmentKey, uint32_t> mappings_;
  absl::flat_hash_map<std::tuple<StringId, StringId, StringId, int64_t>,
                      uint32_t>
      functions_;
  ContentIndex location_index_;
  ContentIndex sample_index_;
  std::vector<Line> lines_;  // reused: keep their memory
  std::vector<uint32_t> stack_;
  std::vector<int64_t> values_;
  std::vector<Label> labels_;
};

Merger::Merger() : tables_(std::make_unique<Tables>()) {}
Merger::~Merger() = default;

absl::Status Merger::Add(const Profile& profile) {
  return tables_->Add(profile, {});
}

absl::Status Merger::Add(const Profile& profile, const Change& change) {
  return tables_->Add(profile, change);
}

Profile Merger::Take() { return tables_->Take(); }

}  // namespace unspool::exporters
