// Writes the model as profile.proto's bytes.

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <string>

#include "exporters/pprof_format.h"
#include "exporters/profile.pb.h"

namespace unspool::exporters {
namespace {

namespace pb = perftools::profiles;
using google::protobuf::internal::WireFormatLite;

// On disk 0 means "none".
uint64_t ToId(uint32_t index) {
  return index == kNoIndex ? 0 : uint64_t{index} + 1;
}

class Encoder {
 public:
  Encoder(const Profile& profile, std::string* out)
      : profile_(profile), stream_(out), out_(&stream_) {}

  void Encode() {
    WriteHeader();
    for (size_t i = 0; i < profile_.sample_count(); ++i) WriteSample(i);
    for (uint32_t i = 0; i < profile_.mappings.size(); ++i) WriteMapping(i);
    for (uint32_t i = 0; i < profile_.locations.size(); ++i) WriteLocation(i);
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) WriteFunction(i);
    for (StringId id = 0; id < profile_.strings.size(); ++id) {
      WriteDelimited(pb::Profile::kStringTableFieldNumber,
                     profile_.strings[id]);
    }
  }

 private:
  void WriteDelimited(int number, std::string_view bytes) {
    out_.WriteTag(WireFormatLite::MakeTag(
        number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out_.WriteVarint32(static_cast<uint32_t>(bytes.size()));
    out_.WriteRaw(bytes.data(), static_cast<int>(bytes.size()));
  }

  template <typename Message>
  void WriteMessage(int number, const Message& message) {
    out_.WriteTag(WireFormatLite::MakeTag(
        number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out_.WriteVarint32(static_cast<uint32_t>(message.ByteSizeLong()));
    message.SerializeWithCachedSizes(&out_);
  }

  void WriteHeader() {
    pb::Profile header;
    for (const ValueType& type : profile_.sample_types) {
      pb::ValueType* out = header.add_sample_type();
      out->set_type(type.type);
      out->set_unit(type.unit);
    }
    for (StringId comment : profile_.comments) header.add_comment(comment);
    header.set_drop_frames(profile_.drop_frames);
    header.set_keep_frames(profile_.keep_frames);
    header.set_default_sample_type(profile_.default_sample_type);
    header.set_time_nanos(profile_.time_ns);
    header.set_duration_nanos(profile_.duration_ns);
    header.set_period(profile_.period);
    if (profile_.period_type != ValueType{}) {
      header.mutable_period_type()->set_type(profile_.period_type.type);
      header.mutable_period_type()->set_unit(profile_.period_type.unit);
    }
    header.SerializeToCodedStream(&out_);
  }

  void WriteSample(size_t index) {
    const Sample sample = profile_.sample(index);
    sample_.Clear();
    for (uint32_t location : sample.locations) {
      sample_.add_location_id(ToId(location));
    }
    for (int64_t value : sample.values) sample_.add_value(value);
    for (const Label& label : sample.labels) {
      pb::Label* out = sample_.add_label();
      out->set_key(label.key);
      out->set_str(label.str);
      out->set_num(label.num);
      out->set_num_unit(label.num_unit);
    }
    WriteMessage(pb::Profile::kSampleFieldNumber, sample_);
  }

  void WriteMapping(uint32_t index) {
    const Mapping& in = profile_.mappings[index];
    pb::Mapping out;
    out.set_id(ToId(index));
    out.set_memory_start(in.memory_start);
    out.set_memory_limit(in.memory_limit);
    out.set_file_offset(in.file_offset);
    out.set_filename(in.filename);
    out.set_build_id(in.build_id);
    out.set_has_functions(in.has_functions);
    out.set_has_filenames(in.has_filenames);
    out.set_has_line_numbers(in.has_line_numbers);
    out.set_has_inline_frames(in.has_inline_frames);
    WriteMessage(pb::Profile::kMappingFieldNumber, out);
  }

  void WriteLocation(uint32_t index) {
    const Location& in = profile_.locations[index];
    location_.Clear();
    location_.set_id(ToId(index));
    location_.set_mapping_id(ToId(in.mapping));
    location_.set_address(in.address);
    location_.set_is_folded(in.is_folded);
    for (const Line& line : profile_.lines(in)) {
      pb::Line* out = location_.add_line();
      out->set_function_id(ToId(line.function));
      out->set_line(line.line);
    }
    WriteMessage(pb::Profile::kLocationFieldNumber, location_);
  }

  void WriteFunction(uint32_t index) {
    const Function& in = profile_.functions[index];
    pb::Function out;
    out.set_id(ToId(index));
    out.set_name(in.name);
    out.set_system_name(in.system_name);
    out.set_filename(in.filename);
    out.set_start_line(in.start_line);
    WriteMessage(pb::Profile::kFunctionFieldNumber, out);
  }

  const Profile& profile_;
  google::protobuf::io::StringOutputStream stream_;
  google::protobuf::io::CodedOutputStream out_;
  pb::Sample sample_;  // reused: keep their arrays
  pb::Location location_;
};

}  // namespace

std::string EncodePprof(const Profile& profile) {
  std::string out;
  Encoder(profile, &out).Encode();
  return out;
}

}  // namespace unspool::exporters
