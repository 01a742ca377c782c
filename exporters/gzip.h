// gzip in memory: RFC 1952 members, by zlib.

#ifndef UNSPOOL_EXPORTERS_GZIP_H_
#define UNSPOOL_EXPORTERS_GZIP_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace unspool::exporters {

// Whether `data` begins as a gzip member does. Thread-safe.
bool IsGzip(std::string_view data);

// The bytes that `data` (one or more members) holds.
// InvalidArgument "truncated", "corrupt gzip data", or more than `max_bytes`
// come out: memory use is bounded by max_bytes, whatever the input claims.
// Thread-safe. Not async-signal-safe: allocates.
absl::StatusOr<std::string> Gunzip(std::string_view data, size_t max_bytes);

// `data` as one member. Thread-safe. Not async-signal-safe: allocates.
std::string Gzip(std::string_view data);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_GZIP_H_
