#include "exporters/raw/raw_pprof.h"

#include <algorithm>
#include <cstring>

#include "collectors/spool/spool_reader.h"
#include "exporters/raw/comments.h"
#include "exporters/raw/gzip_sink.h"
#include "exporters/raw/image_modules.h"
#include "exporters/raw/pprof_fields.h"
#include "exporters/raw/profile_stream.h"
#include "exporters/raw/profile_tables.h"
#include "exporters/raw/sample_writer.h"

namespace unspool::exporters {

namespace raw {
namespace {

using collectors::ImageView;
using collectors::SpoolReader;
using collectors::SpoolStatus;
using collectors::TextView;

RawStatus FromSpoolStatus(SpoolStatus status) {
  switch (status) {
    case SpoolStatus::kOk:
      return RawStatus::kOk;
    case SpoolStatus::kNotASpool:
      return RawStatus::kNotASpool;
    case SpoolStatus::kWrongVersion:
      return RawStatus::kWrongVersion;
    case SpoolStatus::kNoMemory:
      return RawStatus::kNoMemory;
    default:
      return RawStatus::kCorrupt;
  }
}

// Whose program is what was recorded: the last one that the first process ran,
// so for `sh -c 'exec app'` it is app.
size_t FindMainImage(const SpoolReader& reader) {
  size_t last = 0;
  for (size_t i = 0; i < reader.image_count(); ++i) {
    if (reader.image(i).pid == reader.image(0).pid) last = i;
  }
  return last;
}

// Of the sample type that weights are of: the wall clock's if any image is.
const char* ClockName(const SpoolReader& reader) {
  bool is_wall = false;
  reader.ForEachImage([&](const ImageView& image) {
    is_wall = is_wall || image.clock == collectors::SampleClock::kWall;
  });
  return is_wall ? "wall" : "cpu";
}

struct TimeRange {
  uint64_t start_realtime_ns = 0;
  uint64_t duration_ns = 0;
};

TimeRange FindTimeRange(const SpoolReader& reader, uint64_t default_end_ns) {
  uint64_t realtime_ns = ~uint64_t{0};
  uint64_t start_ns = ~uint64_t{0};
  uint64_t end_ns = 0;
  reader.ForEachImage([&](const ImageView& image) {
    realtime_ns = std::min(realtime_ns, image.start_realtime_ns);
    start_ns = std::min(start_ns, image.start_monotonic_ns);
    end_ns =
        std::max(end_ns, image.end_monotonic_ns != 0 ? image.end_monotonic_ns
                                                     : default_end_ns);
  });
  return {realtime_ns, end_ns > start_ns ? end_ns - start_ns : 0};
}

void AddValueType(uint32_t field, const char* type, const char* unit,
                  ProfileTables& tables, ProfileStream& stream) {
  ProtoMessage message;
  message.AddVarint(value_type_field::kType, tables.strings().Intern(type));
  message.AddVarint(value_type_field::kUnit, tables.strings().Intern(unit));
  stream.AddMessage(field, message);
}

void AddFacts(const SpoolReader& reader, const RawOptions& options,
              const Tally& tally, ProfileTables& tables,
              ProfileStream& stream) {
  const TimeRange time = FindTimeRange(
      reader, options.end_monotonic_ns != 0 ? options.end_monotonic_ns
                                            : reader.seen_monotonic_ns());
  stream.AddVarint(profile_field::kTimeNanos, time.start_realtime_ns);
  // Killed, and nobody saw when: it took at least what its busiest thread ran.
  stream.AddVarint(
      profile_field::kDurationNanos,
      options.end_monotonic_ns != 0
          ? time.duration_ns
          : std::max(time.duration_ns, tally.largest_thread_weight_ns));
  stream.AddVarint(profile_field::kPeriod, reader.image(0).period_ns);
  stream.AddVarint(profile_field::kDefaultSampleType,
                   tables.strings().Intern(ClockName(reader)));
}

void AddMappings(const ProfileTables& tables, ProfileStream& stream) {
  ProtoMessage message;
  uint64_t id = 0;
  for (const Mapping& mapping : tables.mappings()) {
    message.Clear();
    message.AddVarint(mapping_field::kId, ++id);
    message.AddVarint(mapping_field::kMemoryStart, mapping.start);
    message.AddVarint(mapping_field::kMemoryLimit, mapping.limit);
    message.AddVarint(mapping_field::kFileOffset, mapping.file_offset);
    message.AddVarint(mapping_field::kFilename, mapping.file);
    message.AddVarint(mapping_field::kBuildId, mapping.build_id);
    message.AddVarint(mapping_field::kHasFunctions, mapping.has_functions);
    stream.AddMessage(profile_field::kMapping, message);
  }
}

void AddLocations(const ProfileTables& tables, ProfileStream& stream) {
  ProtoMessage message;
  ProtoMessage line;
  uint64_t id = 0;
  for (const Location& location : tables.locations()) {
    message.Clear();
    message.AddVarint(location_field::kId, ++id);
    message.AddVarint(location_field::kMappingId, location.mapping);
    message.AddVarint(location_field::kAddress, location.address);
    if (location.function != 0) {
      line.Clear();
      line.AddVarint(line_field::kFunctionId, location.function);
      message.AddMessage(location_field::kLine, line);
    }
    stream.AddMessage(profile_field::kLocation, message);
  }
}

void AddFunctions(const ProfileTables& tables, ProfileStream& stream) {
  ProtoMessage message;
  uint64_t id = 0;
  for (const uint32_t name : tables.functions()) {
    message.Clear();
    message.AddVarint(function_field::kId, ++id);
    message.AddVarint(function_field::kName, name);
    message.AddVarint(function_field::kSystemName, name);
    stream.AddMessage(profile_field::kFunction, message);
  }
}

// Last: everything before may intern.
void AddStrings(const ProfileTables& tables, ProfileStream& stream) {
  for (size_t i = 0; i < tables.strings().size(); ++i) {
    stream.AddBytes(profile_field::kStringTable, tables.strings()[i]);
  }
}

bool AddSamples(const SpoolReader& reader, ProfileTables& tables,
                SampleWriter& samples) {
  ImageModules main_modules(tables);
  if (!main_modules.Load(reader, FindMainImage(reader))) return false;
  main_modules.AddMainMapping();
  for (size_t i = 0; i < reader.image_count(); ++i) {
    if (!samples.WriteImage(i)) return false;
  }
  if (!samples.WriteArchive()) return false;
  samples.WriteLostImages();
  samples.CountAudits();
  return true;
}

// Samples go out while they are read; the tables that they refer to follow.
RawStatus WriteProfile(const SpoolReader& reader, const RawOptions& options,
                       ByteSink sink, RawTotals* totals) {
  ProfileTables tables;
  ProfileStream stream(sink);
  AddValueType(profile_field::kSampleType, "samples", "count", tables, stream);
  const char* clock = ClockName(reader);
  AddValueType(profile_field::kSampleType, clock, "nanoseconds", tables,
               stream);
  AddValueType(profile_field::kPeriodType, clock, "nanoseconds", tables,
               stream);
  SampleWriter samples(reader, tables, stream);
  if (!AddSamples(reader, tables, samples)) return RawStatus::kNoMemory;
  AddFacts(reader, options, samples.tally(), tables, stream);
  AddComments(reader, samples.tally(), tables, stream);
  for (const char* comment : options.comments) {
    AddComment({comment, strlen(comment)}, tables, stream);
  }
  AddMappings(tables, stream);
  AddLocations(tables, stream);
  AddFunctions(tables, stream);
  AddStrings(tables, stream);
  stream.Flush();
  if (totals != nullptr) {
    *totals = samples.tally().totals;
    totals->is_wall = strcmp(clock, "wall") == 0;
    const TextView engine = reader.image(0).engine;
    std::copy_n(engine.data(),
                std::min(engine.size(), sizeof(totals->engine) - 1),
                totals->engine);
  }
  return tables.ok() ? stream.status() : RawStatus::kNoMemory;
}

// A location and its place in samples; most of a profile.
constexpr uint64_t kBytesPerNode = 8;

uint64_t ExpectedSize(const SpoolReader& reader) {
  uint64_t nodes = 0;
  for (size_t i = 0; i < reader.image_count(); ++i) {
    nodes += reader.node_count(i);
  }
  if (reader.archive() != SpoolReader::kNoImage) {
    nodes += reader.node_count(reader.archive());
  }
  return nodes * kBytesPerNode;
}

RawStatus WriteCompressed(const SpoolReader& reader, const RawOptions& options,
                          ByteSink sink, RawTotals* totals) {
  GzipSink gzip(sink);
  if (!gzip.Start(ExpectedSize(reader))) return RawStatus::kNoMemory;
  const RawStatus status = WriteProfile(reader, options, gzip.sink(), totals);
  if (status != RawStatus::kOk) return status;
  return gzip.Finish() ? RawStatus::kOk : RawStatus::kSinkFailed;
}

}  // namespace
}  // namespace raw

RawStatus WriteRawPprof(std::span<const uint8_t> spool,
                        const RawOptions& options, ByteSink sink,
                        RawTotals* totals) {
  collectors::SpoolReader reader;
  const RawStatus status =
      raw::FromSpoolStatus(reader.Open(spool, options.unused));
  if (status != RawStatus::kOk) return status;
  return options.gzip ? raw::WriteCompressed(reader, options, sink, totals)
                      : raw::WriteProfile(reader, options, sink, totals);
}

}  // namespace unspool::exporters
