// What the text views of a report share.

#ifndef UNSPOOL_EXPORTERS_REPORT_TEXT_H_
#define UNSPOOL_EXPORTERS_REPORT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "exporters/frame_names.h"
#include "exporters/profile.h"
#include "exporters/report.h"
#include "exporters/sample_filter.h"

namespace unspool::exporters {

// A view that was asked for, checked.
struct ReportContext {
  const Profile& profile;
  const ReportRequest& request;
  const FrameNames& names;
  const SampleFilter& filter;
  size_t value_index;
  bool is_difference;  // of two profiles

  std::string_view unit() const {
    return profile.strings[profile.sample_types[value_index].unit];
  }
};

// Values of one view in one unit.
class ValueColumns {
 public:
  // `smallest` is the smallest value that has to be readable.
  // Not async-signal-safe: allocates.
  ValueColumns(const ReportContext& context, int64_t smallest, int64_t total);

  int64_t total() const { return total_; }
  double Share(int64_t value) const;  // of the total, 0 or more

  // Not async-signal-safe: allocate.
  std::string Value(int64_t value) const;  // "1.20s"
  // " 1.25%"; of a difference, whose values may be less than nothing, with its
  // sign: " +1.25%".
  std::string Percent(int64_t value) const;
  int percent_width() const { return is_difference_ ? 7 : 6; }

 private:
  int64_t total_;
  bool is_difference_;
  std::string unit_;
  std::string table_unit_;
};

// Which file, what was counted, when, how much, and how far to trust it.
void WriteReportHeader(const ReportContext& context,
                       const ValueColumns& columns, std::ostream& out);

// Says that `count` rows are left out, and what they sum up to.
void WriteHidden(const ValueColumns& columns, size_t count, int64_t sum,
                 std::ostream& out);

// The views.
void WriteTopTable(const ReportContext& context, std::ostream& out);
absl::Status WriteCallTree(const ReportContext& context, std::ostream& out);
absl::Status WriteSourceList(const ReportContext& context, std::ostream& out);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_REPORT_TEXT_H_
