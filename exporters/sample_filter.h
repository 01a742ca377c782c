// Which samples a view counts: by the functions on their stacks, as pprof's
// -focus, -ignore and -tagfocus choose, and by thread.

#ifndef UNSPOOL_EXPORTERS_SAMPLE_FILTER_H_
#define UNSPOOL_EXPORTERS_SAMPLE_FILTER_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Regular expressions of RE2, found anywhere in a name; empty ones choose
// nothing. They match the name of a function, its source file, or the file of
// the mapping.
struct FilterRequest {
  std::string focus;   // keep stacks with a match
  std::string ignore;  // drop stacks with a match
  std::string thread;  // keep threads whose name or tid this is, whole
  std::string tag;     // "KEY=PATTERN": keep samples with such a label
};

class SampleFilter {
 public:
  // Keeps everything.
  SampleFilter() = default;

  // InvalidArgument: not a regular expression, or a tag without a key.
  // NotFound: no sample is kept. The filter refers to `profile`. Not
  // async-signal-safe: allocates.
  static absl::StatusOr<SampleFilter> Create(const Profile& profile,
                                             const FilterRequest& request);

  bool Keeps(const Sample& sample) const;

 private:
  enum class Match : char { kNone, kFocus, kIgnore };

  absl::Status MatchLocations(const Profile& profile,
                              const FilterRequest& request);
  absl::Status MatchTag(const Profile& profile, const std::string& tag);
  absl::Status MatchThreads(const Profile& profile, const std::string& thread);

  // Labels of which a sample must have one: key; string or number.
  using Labels = std::set<std::pair<StringId, int64_t>>;

  std::vector<Match> matches_;  // by location; empty: all stacks are kept
  std::vector<Labels> labels_;  // one of each is needed
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SAMPLE_FILTER_H_
