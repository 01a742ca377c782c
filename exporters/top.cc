// The table of functions.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <string>

#include "exporters/export.h"
#include "exporters/function_table.h"
#include "exporters/report.h"
#include "exporters/report_text.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr size_t kLeastNameColumns = 30;

std::string_view InlineMark(const FunctionRow& row) {
  if (!row.inlined) return "";
  return row.called ? " (partial-inline)" : " (inline)";
}

void WriteRow(const ReportContext& context, const ValueColumns& columns,
              const FunctionRow& row, int64_t flat_sum, std::ostream& out) {
  char figures[128];
  std::snprintf(
      figures, sizeof(figures), "%10s %s %s %10s %s  ",
      columns.Value(row.flat).c_str(), columns.Percent(row.flat).c_str(),
      columns.Percent(flat_sum).c_str(), columns.Value(row.cum).c_str(),
      columns.Percent(row.cum).c_str());
  const TextStyle& style = context.request.style;
  const std::string_view mark = InlineMark(row);
  const size_t taken = std::strlen(figures) + mark.size();
  const size_t width =
      style.width == 0
          ? 0
          : std::max(style.width, taken + kLeastNameColumns) - taken;
  out << figures
      << Shade(style, columns.Share(row.flat),
               FitName(context.names.name(row.name), width))
      << mark << '\n';
}

}  // namespace

void WriteTopTable(const ReportContext& context, std::ostream& out) {
  const FunctionTable table = BuildFunctionTable(
      context.profile, context.names, context.value_index, context.filter);
  const ValueColumns columns(SmallestValue(table), table.total, context.unit());
  WriteReportHeader(context, columns, out);
  char line[128];
  std::snprintf(line, sizeof(line), "%10s %5s%% %5s%% %10s %5s%%\n", "flat",
                "flat", "sum", "cum", "cum");
  out << line;
  const size_t limit = context.request.style.rows;
  const size_t shown =
      limit == 0 ? table.rows.size() : std::min(limit, table.rows.size());
  int64_t flat_sum = 0;
  for (size_t i = 0; i < shown; ++i) {
    flat_sum = AddValues(flat_sum, table.rows[i].flat);
    WriteRow(context, columns, table.rows[i], flat_sum, out);
  }
  if (shown < table.rows.size()) {
    out << "... and " << table.rows.size() - shown
        << " more: in a pipe or file all are shown\n";
  }
}

absl::Status WriteTop(const Profile& profile, std::string_view value,
                      std::ostream& out) {
  ReportRequest request;
  request.value = value;
  return WriteReport(profile, request, out);
}

}  // namespace unspool::exporters
