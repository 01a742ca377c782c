// What the command line does with a profile: load, name, write. Each step is
// one call; profile.h is the model that passes between them.

#ifndef UNSPOOL_EXPORTERS_EXPORT_H_
#define UNSPOOL_EXPORTERS_EXPORT_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Told what is being done and how far it is (0..total; total 0 = unknown).
using Progress =
    std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

// Reads a spool or a pprof profile (gzip or not), by content.
// InvalidArgument: neither, truncated, corrupt, or of another version.
absl::StatusOr<Profile> LoadProfile(const std::string& path);

// Names every location that has no function yet, from the files that its
// mapping names, if their build ids match. What could not be named stays
// "module+0x1234"; problems are added to the profile's comments.
void Symbolize(Profile& profile, const Progress& progress);

// gzip-compressed unless `path` ends in .pb. Written under a temporary name and
// renamed.
absl::Status WritePprof(const Profile& profile, const std::string& path);
std::string SerializePprof(const Profile& profile, bool gzip);

// `value` names a sample type ("cpu", "samples"); empty = the default one.
absl::Status WriteFolded(const Profile& profile, std::string_view value,
                         std::ostream& out);
absl::Status WriteTop(const Profile& profile, std::string_view value,
                      std::ostream& out);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_EXPORT_H_
