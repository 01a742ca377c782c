// What a flame graph says about its profile, and how it calls its frames.

#ifndef UNSPOOL_EXPORTERS_FLAME_FLAME_FACTS_H_
#define UNSPOOL_EXPORTERS_FLAME_FLAME_FACTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/profile.h"

namespace unspool::exporters {

// Key and text: title, program, type, unit; samples, threads, lost, truncated,
// time, duration where they are known. Of a difference: "difference", both sums
// ("400 2000"; "" if unknown), and no samples, threads or duration, which would
// be those of two recordings. At most 512 bytes each.
using FlameFacts = std::vector<std::pair<std::string, std::string>>;

// Precondition: `value_index` is one of the profile's sample types.
// Any thread. Not async-signal-safe: allocates.
FlameFacts FactsOf(const Profile& profile, size_t value_index,
                   bool is_difference);

// `text` if it has at most `max_bytes`, else its beginning and end with "…" in
// between, cut between characters of UTF-8. Precondition: max_bytes >= 16.
// Any thread. Not async-signal-safe: allocates.
std::string ShortenMiddle(std::string_view text, size_t max_bytes);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_FLAME_FACTS_H_
