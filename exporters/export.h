// What the command line does with a profile: load, name, write. Each step is
// one call; profile.h is the model that passes between them.

#ifndef UNSPOOL_EXPORTERS_EXPORT_H_
#define UNSPOOL_EXPORTERS_EXPORT_H_

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/profile.h"
#include "exporters/symbolizer/recorded_files.h"

namespace unspool::exporters {

// Told what is being done and how far it is (0..total; total 0 = unknown).
using Progress =
    std::function<void(std::string_view what, uint64_t done, uint64_t total)>;

// Reads a spool, a pprof profile or gperftools' CPU profile (gzip or not), by
// content.
// InvalidArgument: neither, truncated, corrupt, or of another version.
absl::StatusOr<Profile> LoadProfile(const std::string& path);

// Names every location that has no function yet, from the files that its
// mapping names, if their build ids match, or that `files` knows (null: none).
// Code without a symbol is called "module+0x1234". Locations whose file is not
// there, or not the one that was recorded, stay without a name, for somebody
// who has the file; a comment "unspool.unnamed=…" says why. `progress` may be
// empty; it may throw to end the work early, then what has a name by then keeps
// it. Not async-signal-safe: allocates, reads files.
void Symbolize(Profile& profile, const Progress& progress,
               const RecordedFiles* files = nullptr);

// The whole file or none, also if a signal ends the program meanwhile: it has
// no name until it is complete (open(2), O_TMPFILE), or, where the file system
// cannot do that, a temporary one, and signals wait. A pipe or device is
// written in place.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// Writes a format piece by piece; an error ends it.
using Render = std::function<absl::Status(std::ostream& out)>;

// The same of what `render` writes, none of which is kept in memory.
absl::Status WriteFile(const std::string& path, const Render& render);
absl::Status WriteStdout(const Render& render);

// By WriteFile; gzip-compressed unless `path` ends in .pb.
absl::Status WritePprof(const Profile& profile, const std::string& path);
std::string SerializePprof(const Profile& profile, bool gzip);

// `value` names a sample type ("cpu", "samples"); empty = the default one.
absl::Status WriteFolded(const Profile& profile, std::string_view value,
                         std::ostream& out);
// One HTML file that needs nothing else: the interactive flame graph. At most
// 5 MB, whatever the profile holds. A profile with negative values, as one less
// another has, becomes the differential graph of the two.
absl::Status WriteFlameHtml(const Profile& profile, std::string_view value,
                            std::ostream& out);

// The same as a plain picture, without a script: frames below 0.1 % of the
// whole are one grey frame per caller, with their sum.
absl::Status WriteFlameSvg(const Profile& profile, std::string_view value,
                           std::ostream& out);
absl::Status WriteTop(const Profile& profile, std::string_view value,
                      std::ostream& out);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_EXPORT_H_
