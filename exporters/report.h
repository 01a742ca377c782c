// A profile as text to read: tables, call trees and source, for a terminal, a
// file or, as JSON, a program.

#ifndef UNSPOOL_EXPORTERS_REPORT_H_
#define UNSPOOL_EXPORTERS_REPORT_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "exporters/profile.h"
#include "exporters/sample_filter.h"
#include "exporters/text_style.h"

namespace unspool::exporters {

enum class ReportView : uint8_t {
  kTop,      // functions, the largest flat value first
  kTree,     // who calls whom, from the outermost frame on
  kCallers,  // who calls `function`, from it on outwards
  kList,     // the source lines of `function`
};

struct ReportRequest {
  ReportView view = ReportView::kTop;
  std::string function;  // a regular expression; for kCallers and kList
  std::string value;     // a sample type; empty: the default one
  bool by_line = false;  // a function's lines for themselves; not for kList
  bool as_json = false;  // not for kList
  FilterRequest filter;
  TextStyle style;
};

// InvalidArgument: no such sample type, or no regular expression. NotFound:
// nothing matches the function or the filter. Nothing is written then.
// kList reads the source files that the profile names; of one that is not
// there it shows the lines' numbers.
// Not async-signal-safe: allocates.
absl::Status WriteReport(const Profile& profile, const ReportRequest& request,
                         std::ostream& out);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_REPORT_H_
