// The table of functions.

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>

#include "exporters/export.h"
#include "exporters/function_table.h"
#include "exporters/report.h"
#include "exporters/report_text.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

// What the longest figures and mark leave of 80 columns.
constexpr size_t kLeastNameColumns = 18;

std::string_view InlineMark(const FunctionRow& row) {
  if (!row.inlined) return "";
  return row.called ? " (partial-inline)" : " (inline)";
}

// Values of a difference have no running sum that says anything.
std::string Figures(const ReportContext& context, const ValueColumns& columns,
                    const FunctionRow& row, int64_t flat_sum) {
  char text[160];
  std::snprintf(
      text, sizeof(text), "%10s %s%s%s %10s %s  ",
      columns.Value(row.flat).c_str(), columns.Percent(row.flat).c_str(),
      context.is_difference ? "" : " ",
      context.is_difference ? "" : columns.Percent(flat_sum).c_str(),
      columns.Value(row.cum).c_str(), columns.Percent(row.cum).c_str());
  return text;
}

void WriteRow(const ReportContext& context, const ValueColumns& columns,
              const FunctionRow& row, int64_t flat_sum, std::ostream& out) {
  const std::string figures = Figures(context, columns, row, flat_sum);
  const TextStyle& style = context.request.style;
  const std::string_view mark = InlineMark(row);
  const size_t taken = figures.size() + mark.size();
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
  const ValueColumns columns(context, SmallestValue(table), table.total);
  WriteReportHeader(context, columns, out);
  const int width = columns.percent_width() - 1;
  char line[128];
  std::snprintf(line, sizeof(line), "%10s %*s%%%s %10s %*s%%\n", "flat", width,
                "flat", context.is_difference ? "" : "   sum%", "cum", width,
                "cum");
  out << line;
  const size_t limit = context.request.style.rows;
  int64_t flat_sum = 0;
  size_t shown = 0;
  for (; shown < table.rows.size() && (limit == 0 || shown < limit); ++shown) {
    flat_sum = AddValues(flat_sum, table.rows[shown].flat);
    WriteRow(context, columns, table.rows[shown], flat_sum, out);
  }
  int64_t hidden = 0;
  for (size_t i = shown; i < table.rows.size(); ++i) {
    hidden = AddValues(hidden, table.rows[i].flat);
  }
  WriteHidden(columns, table.rows.size() - shown, hidden, out);
}

absl::Status WriteTop(const Profile& profile, std::string_view value,
                      std::ostream& out) {
  ReportRequest request;
  request.value = value;
  return WriteReport(profile, request, out);
}

}  // namespace unspool::exporters
