// The CPU profile of gperftools' libprofiler: words of 8 bytes and the text of
// /proc/self/maps (gperftools, docs/cpuprofile-fileformat.html).

#ifndef UNSPOOL_EXPORTERS_GPERFTOOLS_PROFILE_H_
#define UNSPOOL_EXPORTERS_GPERFTOOLS_PROFILE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Whether `data` begins as such a file of a 64-bit little-endian machine does.
bool IsGperftoolsProfile(std::string_view data);

// Decodes one. Its sample types are samples/count and cpu/nanoseconds, a stack
// that occurs several times is several samples, nothing has a name.
// Precondition: IsGperftoolsProfile(data).
// InvalidArgument "truncated": the end marker is missing.
// Thread-safe. Not async-signal-safe: allocates.
absl::StatusOr<Profile> DecodeGperftools(std::string_view data);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_GPERFTOOLS_PROFILE_H_
