// Field numbers of pprof's profile.proto
// (github.com/google/pprof/blob/main/proto/profile.proto).

#ifndef UNSPOOL_EXPORTERS_RAW_PPROF_FIELDS_H_
#define UNSPOOL_EXPORTERS_RAW_PPROF_FIELDS_H_

#include <cstdint>

namespace unspool::exporters::raw {

namespace profile_field {
inline constexpr uint32_t kSampleType = 1;
inline constexpr uint32_t kSample = 2;
inline constexpr uint32_t kMapping = 3;
inline constexpr uint32_t kLocation = 4;
inline constexpr uint32_t kFunction = 5;
inline constexpr uint32_t kStringTable = 6;
inline constexpr uint32_t kTimeNanos = 9;
inline constexpr uint32_t kDurationNanos = 10;
inline constexpr uint32_t kPeriodType = 11;
inline constexpr uint32_t kPeriod = 12;
inline constexpr uint32_t kComment = 13;
inline constexpr uint32_t kDefaultSampleType = 14;
}  // namespace profile_field

namespace value_type_field {
inline constexpr uint32_t kType = 1;
inline constexpr uint32_t kUnit = 2;
}  // namespace value_type_field

namespace sample_field {
inline constexpr uint32_t kLocationId = 1;
inline constexpr uint32_t kValue = 2;
inline constexpr uint32_t kLabel = 3;
}  // namespace sample_field

namespace label_field {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kText = 2;
inline constexpr uint32_t kNumber = 3;
}  // namespace label_field

namespace mapping_field {
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kMemoryStart = 2;
inline constexpr uint32_t kMemoryLimit = 3;
inline constexpr uint32_t kFileOffset = 4;
inline constexpr uint32_t kFilename = 5;
inline constexpr uint32_t kBuildId = 6;
inline constexpr uint32_t kHasFunctions = 7;
}  // namespace mapping_field

namespace location_field {
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kMappingId = 2;
inline constexpr uint32_t kAddress = 3;
inline constexpr uint32_t kLine = 4;
}  // namespace location_field

namespace line_field {
inline constexpr uint32_t kFunctionId = 1;
}  // namespace line_field

namespace function_field {
inline constexpr uint32_t kId = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kSystemName = 3;
}  // namespace function_field

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_PPROF_FIELDS_H_
