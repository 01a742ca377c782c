#include "exporters/report.h"

#include "absl/status/statusor.h"
#include "exporters/call_tree.h"
#include "exporters/function_table.h"
#include "exporters/merge.h"
#include "exporters/report_json.h"
#include "exporters/report_text.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

absl::Status WriteJson(const ReportContext& context, std::ostream& out) {
  if (context.request.view == ReportView::kTop) {
    WriteTableJson(context,
                   BuildFunctionTable(context.profile, context.names,
                                      context.value_index, context.filter),
                   out);
    return absl::OkStatus();
  }
  const absl::StatusOr<CallTree> calls = BuildCallTree(context);
  if (!calls.ok()) return calls.status();
  WriteTreeJson(context, *calls, out);
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteReport(const Profile& profile, const ReportRequest& request,
                         std::ostream& out) {
  const absl::StatusOr<size_t> value_index =
      SampleTypeIndex(profile, request.value);
  if (!value_index.ok()) return value_index.status();
  const absl::StatusOr<SampleFilter> filter =
      SampleFilter::Create(profile, request.filter);
  if (!filter.ok()) return filter.status();
  const FrameNames names(
      profile, request.by_line ? Granularity::kLines : Granularity::kFunctions);
  const bool is_difference =
      DiffBase(profile).is_diff() ||
      FindDiffSums(profile, *value_index).has_value();  // from nothing
  const ReportContext context = {profile, request,      names,
                                 *filter, *value_index, is_difference};
  if (request.view == ReportView::kList) return WriteSourceList(context, out);
  if (request.as_json) return WriteJson(context, out);
  if (request.view != ReportView::kTop) return WriteCallTree(context, out);
  WriteTopTable(context, out);
  return absl::OkStatus();
}

}  // namespace unspool::exporters
