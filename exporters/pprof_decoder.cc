// Reads profile.proto's bytes into the model. The input is hostile: whatever it
// says is checked before it is used as an index.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "exporters/pprof_format.h"
#include "exporters/profile.pb.h"

namespace unspool::exporters {
namespace {

namespace pb = perftools::profiles;
using google::protobuf::internal::WireFormatLite;

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError(std::string(what));
}

// One field of the outermost message: its bytes with the tag, and, where it is
// length-delimited, its payload.
struct Field {
  int number;
  bool is_delimited;
  std::string_view whole;
  std::string_view payload;
};

// Reads the field at `position`; false if the bytes there are not a field.
bool ReadField(std::string_view data, size_t* position, Field* field) {
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const uint8_t*>(data.data()) + *position,
      static_cast<int>(data.size() - *position));
  const uint32_t tag = in.ReadTag();
  field->number = WireFormatLite::GetTagFieldNumber(tag);
  if (field->number == 0) return false;
  field->is_delimited = WireFormatLite::GetTagWireType(tag) ==
                        WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  if (field->is_delimited) {
    uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return false;
    field->payload = data.substr(*position + in.CurrentPosition(), size);
    if (field->payload.size() != size || !in.Skip(static_cast<int>(size))) {
      return false;
    }
  } else if (!WireFormatLite::SkipField(&in, tag)) {
    return false;
  }
  field->whole = data.substr(*position, in.CurrentPosition());
  *position += in.CurrentPosition();
  return true;
}

// Which wire type a field of pb::Profile has: all but numbers are delimited.
bool IsDelimitedField(int number) {
  return (number >= pb::Profile::kSampleTypeFieldNumber &&
          number <= pb::Profile::kStringTableFieldNumber) ||
         number == pb::Profile::kPeriodTypeFieldNumber;
}

class Decoder {
 public:
  explicit Decoder(std::string_view data) : data_(data) {}

  absl::StatusOr<Profile> Decode() {
    // Later passes look up what earlier ones collect; the order of fields in
    // the file does not matter.
    for (absl::Status (Decoder::*pass)() :
         {&Decoder::CheckFraming, &Decoder::ReadStrings, &Decoder::ReadHeader,
          &Decoder::ReadMappings, &Decoder::ReadFunctions,
          &Decoder::ReadLocations, &Decoder::ReadSamples}) {
      absl::Status status = (this->*pass)();
      if (!status.ok()) return status;
    }
    return std::move(profile_);
  }

 private:
  using IdMap = std::unordered_map<uint64_t, uint32_t>;

  // The outermost message is a sequence of whole fields, and the known ones
  // have the right wire type.
  absl::Status CheckFraming() {
    Field field;
    size_t position = 0;
    bool has_sample_type = false;
    while (position < data_.size()) {
      if (!ReadField(data_, &position, &field)) {
        return Invalid(has_sample_type ? "truncated or corrupt"
                                       : "not a profile or spool");
      }
      if (IsDelimitedField(field.number) && !field.is_delimited) {
        return Invalid(has_sample_type ? "corrupt" : "not a profile or spool");
      }
      if (field.number == pb::Profile::kSampleTypeFieldNumber) {
        has_sample_type = true;
      }
    }
    return has_sample_type ? absl::OkStatus()
                           : Invalid("not a profile or spool");
  }

  // Calls read(message) for every field of this number, decoded into one
  // reused message.
  template <typename Message, typename Read>
  absl::Status ForEach(int number, Read read) {
    Message message;
    Field field;
    for (size_t position = 0; position < data_.size();) {
      ReadField(data_, &position, &field);
      if (field.number != number) continue;
      if (!message.ParseFromArray(field.payload.data(),
                                  static_cast<int>(field.payload.size()))) {
        return Invalid("corrupt: malformed message");
      }
      absl::Status status = read(message);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadStrings() {
    Field field;
    for (size_t position = 0; position < data_.size();) {
      ReadField(data_, &position, &field);
      if (field.number != pb::Profile::kStringTableFieldNumber) continue;
      if (string_ids_.empty() && !field.payload.empty()) {
        return Invalid("corrupt: string 0 is not empty");
      }
      string_ids_.push_back(profile_.strings.Intern(field.payload));
    }
    return string_ids_.empty() ? Invalid("truncated: no string table")
                               : absl::OkStatus();
  }

  // Everything but the tables and the samples.
  absl::Status ReadHeader() {
    std::string bytes;
    Field field;
    for (size_t position = 0; position < data_.size();) {
      ReadField(data_, &position, &field);
      if (field.number < pb::Profile::kSampleFieldNumber ||
          field.number > pb::Profile::kStringTableFieldNumber) {
        bytes += field.whole;
      }
    }
    pb::Profile header;
    if (!header.ParseFromString(bytes)) return Invalid("corrupt: header");
    for (const pb::ValueType& type : header.sample_type()) {
      profile_.sample_types.push_back(
          {String(type.type()), String(type.unit())});
    }
    for (int64_t comment : header.comment()) {
      profile_.comments.push_back(String(comment));
    }
    profile_.drop_frames = String(header.drop_frames());
    profile_.keep_frames = String(header.keep_frames());
    profile_.default_sample_type = String(header.default_sample_type());
    profile_.time_ns = header.time_nanos();
    profile_.duration_ns = header.duration_nanos();
    profile_.period = header.period();
    profile_.period_type = {String(header.period_type().type()),
                            String(header.period_type().unit())};
    return CheckStrings();
  }

  absl::Status ReadMappings() {
    return ForEach<pb::Mapping>(
        pb::Profile::kMappingFieldNumber, [this](const pb::Mapping& in) {
          profile_.mappings.push_back({
              .memory_start = in.memory_start(),
              .memory_limit = in.memory_limit(),
              .file_offset = in.file_offset(),
              .filename = String(in.filename()),
              .build_id = String(in.build_id()),
              .has_functions = in.has_functions(),
              .has_filenames = in.has_filenames(),
              .has_line_numbers = in.has_line_numbers(),
              .has_inline_frames = in.has_inline_frames(),
          });
          return AddId("mapping", in.id(), &mapping_ids_);
        });
  }

  absl::Status ReadFunctions() {
    return ForEach<pb::Function>(
        pb::Profile::kFunctionFieldNumber, [this](const pb::Function& in) {
          profile_.functions.push_back({
              .name = String(in.name()),
              .system_name = String(in.system_name()),
              .filename = String(in.filename()),
              .start_line = in.start_line(),
          });
          return AddId("function", in.id(), &function_ids_);
        });
  }

  absl::Status ReadLocations() {
    std::vector<Line> lines;
    return ForEach<pb::Location>(
        pb::Profile::kLocationFieldNumber,
        [this, &lines](const pb::Location& in) {
          lines.clear();
          for (const pb::Line& line : in.line()) {
            auto function = function_ids_.find(line.function_id());
            if (function == function_ids_.end()) {
              return Invalid("corrupt: a line without its function");
            }
            lines.push_back({function->second, line.line()});
          }
          Location out = {.address = in.address(), .is_folded = in.is_folded()};
          if (in.mapping_id() != 0) {
            auto mapping = mapping_ids_.find(in.mapping_id());
            if (mapping == mapping_ids_.end()) {
              return Invalid("corrupt: a location without its mapping");
            }
            out.mapping = mapping->second;
          }
          profile_.SetLines(out, lines);
          profile_.locations.push_back(out);
          return AddId("location", in.id(), &location_ids_);
        });
  }

  absl::Status ReadSamples() {
    std::vector<uint32_t> stack;
    std::vector<Label> labels;
    return ForEach<pb::Sample>(
        pb::Profile::kSampleFieldNumber,
        [this, &stack, &labels](const pb::Sample& in) {
          stack.clear();
          for (uint64_t id : in.location_id()) {
            auto location = location_ids_.find(id);
            if (location == location_ids_.end()) {
              return Invalid("corrupt: a sample without its location");
            }
            stack.push_back(location->second);
          }
          const auto value_count = static_cast<size_t>(in.value_size());
          if (value_count != profile_.sample_types.size()) {
            return Invalid("corrupt: a sample with too few or many values");
          }
          labels.clear();
          for (const pb::Label& label : in.label()) {
            labels.push_back({String(label.key()), String(label.str()),
                              label.num(), String(label.num_unit())});
          }
          const int64_t* values = in.value().data();
          profile_.AddSample(stack, std::span(values, value_count), labels);
          return CheckStrings();
        });
  }

  // The string of an index in the file; "" and a sticky error if there is none.
  StringId String(int64_t index) {
    if (index < 0 || static_cast<uint64_t>(index) >= string_ids_.size()) {
      bad_string_ = true;
      return 0;
    }
    return string_ids_[static_cast<size_t>(index)];
  }

  absl::Status CheckStrings() const {
    return bad_string_ ? Invalid("truncated or corrupt: a string is missing")
                       : absl::OkStatus();
  }

  absl::Status AddId(const char* kind, uint64_t id, IdMap* ids) {
    const auto index = static_cast<uint32_t>(ids->size());
    if (id == 0 || !ids->emplace(id, index).second) {
      return Invalid(std::string("corrupt: ") + kind +
                     (id == 0 ? " with id 0" : " with an id that is not new"));
    }
    return CheckStrings();
  }

  const std::string_view data_;
  Profile profile_;
  std::vector<StringId> string_ids_;  // by index in the file
  bool bad_string_ = false;
  IdMap mapping_ids_;
  IdMap function_ids_;
  IdMap location_ids_;
};

}  // namespace

absl::StatusOr<Profile> DecodePprof(std::string_view data) {
  if (data.size() > kMaxPprofBytes) return Invalid("too large");
  return Decoder(data).Decode();
}

}  // namespace unspool::exporters
