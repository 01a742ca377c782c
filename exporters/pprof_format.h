// profile.proto's bytes and the Profile model, both ways.
//
// Messages are decoded and encoded one at a time, through generated classes
// that are reused: the model, not protobuf's object tree, sets the memory use.

#ifndef UNSPOOL_EXPORTERS_PPROF_FORMAT_H_
#define UNSPOOL_EXPORTERS_PPROF_FORMAT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// What a decompressed profile may have: protobuf's own limit is 2 GiB.
inline constexpr size_t kMaxPprofBytes = size_t{1} << 30;

// Decodes and validates an uncompressed profile: every id refers to something
// that exists once, every string index is in range, every sample has one value
// per sample type.
// InvalidArgument "not a profile or spool", "truncated", or what is wrong.
// Thread-safe. Not async-signal-safe: allocates.
absl::StatusOr<Profile> DecodePprof(std::string_view data);

// The profile's bytes, uncompressed; ids are index + 1. The string table comes
// last, so that a file cut short is missing strings that it refers to.
// Thread-safe. Not async-signal-safe: allocates.
std::string EncodePprof(const Profile& profile);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_PPROF_FORMAT_H_
