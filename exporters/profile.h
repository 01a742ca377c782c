// A profile in memory: pprof's model, made compact.
//
// Everything that repeats is an index: strings into the string table, functions
// and locations into their vectors, and the stacks of all samples lie in one
// array. A location of a million distinct stacks costs 4 bytes per frame.
// Indices start at 0 here; in a file ids are index + 1, as pprof wants them.
//
// Thread rule of all types here: like std::vector, const members from any
// thread, others from one.

#ifndef UNSPOOL_EXPORTERS_PROFILE_H_
#define UNSPOOL_EXPORTERS_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace unspool::exporters {

using StringId = uint32_t;
inline constexpr uint32_t kNoIndex = 0xffffffff;

// Interned strings. Id 0 is "". Views stay valid as long as the table does,
// also when it is moved.
class StringTable {
 public:
  StringTable() { Intern(""); }
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;

  // The id of `text`, added if it is new.
  // Not async-signal-safe: allocates.
  StringId Intern(std::string_view text);

  // Precondition: `id` came from this table.
  std::string_view operator[](StringId id) const { return strings_[id]; }
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;  // never moves its elements
  std::unordered_map<std::string_view, StringId> ids_;
};

// "cpu" in "nanoseconds".
struct ValueType {
  StringId type = 0;
  StringId unit = 0;
  bool operator==(const ValueType&) const = default;
};

// A string label has str != 0, a number label str == 0.
struct Label {
  StringId key = 0;
  StringId str = 0;
  int64_t num = 0;
  StringId num_unit = 0;
  bool operator==(const Label&) const = default;
};

struct Mapping {
  uint64_t memory_start = 0;
  uint64_t memory_limit = 0;  // first address behind it
  uint64_t file_offset = 0;   // of the byte at memory_start
  StringId filename = 0;
  StringId build_id = 0;  // lower-case hex
  bool has_functions = false;
  bool has_filenames = false;
  bool has_line_numbers = false;
  bool has_inline_frames = false;
};

struct Function {
  StringId name = 0;         // demangled
  StringId system_name = 0;  // mangled, as in the symbol table
  StringId filename = 0;
  int64_t start_line = 0;
};

// One frame at a location; several if functions were inlined there.
struct Line {
  uint32_t function = 0;  // index into Profile::functions
  int64_t line = 0;       // 0: unknown
  bool operator==(const Line&) const = default;
};

// An address that was seen. `address` is what to look up: the PC where it is
// exact, else return address − 1; never subtract again.
struct Location {
  uint64_t address = 0;
  uint32_t mapping = kNoIndex;  // index into Profile::mappings
  uint32_t line_count = 0;      // Profile::lines(location): innermost first
  uint64_t first_line = 0;
  bool is_folded = false;
};

// One sample as handed out; the spans point into the profile.
struct Sample {
  std::span<const uint32_t> locations;  // indices, leaf first
  std::span<const int64_t> values;      // one per sample type
  std::span<const Label> labels;
};

class Profile {
 public:
  StringTable strings;
  std::vector<ValueType> sample_types;
  std::vector<Mapping> mappings;
  std::vector<Location> locations;
  std::vector<Function> functions;
  std::vector<StringId> comments;  // "unspool.key=value", or anybody's text
  StringId default_sample_type = 0;
  StringId drop_frames = 0;
  StringId keep_frames = 0;
  int64_t time_ns = 0;  // since the epoch
  int64_t duration_ns = 0;
  ValueType period_type;
  int64_t period = 0;

  size_t sample_count() const { return samples_.size(); }
  Sample sample(size_t index) const;

  // Precondition: values.size() == sample_types.size(), each location an index.
  // Not async-signal-safe: allocates.
  void AddSample(std::span<const uint32_t> sample_locations,
                 std::span<const int64_t> values,
                 std::span<const Label> labels);

  // Adds to the values of a sample; sums end at the limits of int64_t.
  // Precondition: values.size() == sample_types.size().
  void AddToSample(size_t index, std::span<const int64_t> values);

  // Puts another location into a sample's stack, at `position` from its leaf.
  // Precondition: the stack has that position, the location is an index.
  void SetLocation(size_t index, size_t position, uint32_t location);

  // The frames at a location, innermost first; empty if it has no name yet.
  std::span<const Line> lines(const Location& location) const;

  // Replaces the frames of a location.
  // Not async-signal-safe: allocates.
  void SetLines(Location& location, std::span<const Line> lines);

  // Says of each mapping what its locations have: functions if all of them do,
  // the rest if any does. One without locations keeps what it says.
  void UpdateMappingFlags();

  // Adds "key=value" to the comments.
  // Not async-signal-safe: allocates.
  void AddComment(std::string_view key, std::string_view value);

  // The value of the first comment "key=value", if there is one.
  std::optional<std::string_view> FindComment(std::string_view key) const;

  // The index of the sample type called `type`; with an empty `type` the
  // default one: default_sample_type, else the last, as pprof chooses.
  // nullopt if there is none of that name.
  std::optional<size_t> FindSampleType(std::string_view type) const;

 private:
  struct SampleEntry {
    uint64_t first_location;
    uint64_t first_label;
    uint32_t location_count;
    uint32_t label_count;
  };

  std::vector<SampleEntry> samples_;
  std::vector<uint32_t> sample_locations_;
  std::vector<int64_t> sample_values_;  // sample_types.size() per sample
  std::vector<Label> sample_labels_;    // equal neighbours share theirs
  std::vector<Line> lines_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_PROFILE_H_
