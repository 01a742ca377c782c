// Several profiles as one, and the difference of two: profiles in, a profile
// out. The rules are pprof's (profile/merge.go, and -diff_base -normalize of
// its command line), but that no sample is dropped for having only zeros.

#ifndef UNSPOOL_EXPORTERS_MERGE_H_
#define UNSPOOL_EXPORTERS_MERGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Adds up profiles, one after the other, so that only one of them and the sum
// need be in memory. Equal stacks with equal labels become one sample.
//
// A segment of a file is one mapping, the one that came first, wherever the
// profiles had it: files are equal if their build ids are, without these if
// their names are. Names without a file ("[jit]") mean addresses of a process
// and are equal at the same address only. The first profile's first mapping
// stays first. Durations are added, the time is the earliest, the period the
// longest; comments "unspool.…" that count something are added, others kept
// once.
class Merger {
 public:
  Merger();
  ~Merger();
  Merger(const Merger&) = delete;
  Merger& operator=(const Merger&) = delete;

  // Precondition: Take() was not called.
  // InvalidArgument, and nothing is added: the sample types or the period type
  // (with their units) are not those of the profiles before.
  // Not async-signal-safe: allocates.
  absl::Status Add(const Profile& profile);

  // The same with the samples changed on their way.
  // Precondition: no ratios, or one per sample type.
  // Not async-signal-safe: allocates.
  struct Change {
    std::span<const double> ratios;  // values are multiplied by, and rounded
    std::string_view label_key;      // added to each sample, unless empty
    std::string_view label_text;
  };
  absl::Status Add(const Profile& profile, const Change& change);

  // The sum. Call it once, after at least one Add() that was OK.
  Profile Take();

 private:
  class Tables;
  std::unique_ptr<Tables> tables_;
};

// `profile` minus `base`: the samples of both, those of `base` negated and
// labelled "pprof::base"="true", which is how pprof knows a difference (its
// percentages are of the base then). `profile` is normalised: each of its
// sample types is scaled to the base's sum, so that runs of different length
// compare, unless one of both is 0; comments "unspool.diff.TYPE=BASE NEW" keep
// both sums as they were. InvalidArgument: see Merger::Add. Not
// async-signal-safe: allocates.
absl::StatusOr<Profile> Diff(const Profile& base, const Profile& profile);

// What both profiles of a difference added up to before one was scaled.
struct DiffSums {
  int64_t base = 0;
  int64_t profile = 0;
};

// From the comment that Diff() wrote; nullopt if there is none that can be
// read. Precondition: `value_index` is one of the profile's sample types. Not
// async-signal-safe: allocates.
std::optional<DiffSums> FindDiffSums(const Profile& profile,
                                     size_t value_index);

// Which of a profile's samples are the base's. Those of a profile that is no
// difference are not.
class DiffBase {
 public:
  // Keeps a reference to `profile`.
  // Not async-signal-safe: allocates.
  explicit DiffBase(const Profile& profile);

  // Whether there is any base sample: the profile is a difference.
  bool is_diff() const { return is_diff_; }
  bool Has(const Sample& sample) const;

 private:
  const Profile& profile_;
  bool is_diff_ = false;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_MERGE_H_
