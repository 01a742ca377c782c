// The difference of two profiles, as pprof's -diff_base -normalize has it.

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr std::string_view kBaseKey = "pprof::base";
constexpr std::string_view kBaseText = "true";

std::string SumsKey(const Profile& profile, size_t type) {
  return "unspool.diff." +
         std::string(profile.strings[profile.sample_types[type].type]);
}

// By sample type.
std::vector<int64_t> Sums(const Profile& profile) {
  std::vector<int64_t> sums(profile.sample_types.size());
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    for (size_t type = 0; type < sums.size(); ++type) {
      sums[type] = AddValues(sums[type], sample.values[type]);
    }
  }
  return sums;
}

}  // namespace

absl::StatusOr<Profile> Diff(const Profile& base, const Profile& profile) {
  Merger merger;
  const std::vector<double> negate(base.sample_types.size(), -1);
  absl::Status status = merger.Add(
      base, {.ratios = negate, .label_key = kBaseKey, .label_text = kBaseText});
  if (!status.ok()) return status;

  const std::vector<int64_t> base_sums = Sums(base);
  const std::vector<int64_t> sums = Sums(profile);
  std::vector<double> normalize(sums.size());
  for (size_t i = 0; i < sums.size() && i < base_sums.size(); ++i) {
    // There is nothing to scale to, or to be scaled.
    const bool is_empty = base_sums[i] == 0 || sums[i] == 0;
    normalize[i] = is_empty ? 1
                            : static_cast<double>(base_sums[i]) /
                                  static_cast<double>(sums[i]);
  }
  status = merger.Add(profile,
                      {.ratios = normalize, .label_key = {}, .label_text = {}});
  if (!status.ok()) return status;

  Profile diff = merger.Take();
  for (size_t i = 0; i < sums.size(); ++i) {
    diff.AddComment(SumsKey(diff, i), std::to_string(base_sums[i]) + " " +
                                          std::to_string(sums[i]));
  }
  return diff;
}

std::optional<DiffSums> FindDiffSums(const Profile& profile,
                                     size_t value_index) {
  const auto text = profile.FindComment(SumsKey(profile, value_index));
  if (!text) return std::nullopt;
  DiffSums sums;
  const char* end = text->data() + text->size();
  const auto first = std::from_chars(text->data(), end, sums.base);
  if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, sums.profile);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return sums;
}

DiffBase::DiffBase(const Profile& profile) : profile_(profile) {
  for (size_t i = 0; i < profile.sample_count() && !is_diff_; ++i) {
    is_diff_ = Has(profile.sample(i));
  }
}

bool DiffBase::Has(const Sample& sample) const {
  for (const Label& label : sample.labels) {
    if (profile_.strings[label.key] == kBaseKey &&
        profile_.strings[label.str] == kBaseText) {
      return true;
    }
  }
  return false;
}

}  // namespace unspool::exporters
