#include "exporters/report_text.h"

#include <cstdlib>
#include <ctime>

#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

// "Oct 9, 2026 at 3:04pm (CEST)"
std::string FormatTime(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  struct tm local = {};
  char text[64] = "";
  if (localtime_r(&seconds, &local) != nullptr) {
    std::strftime(text, sizeof(text), "%b %-d, %Y at %-I:%M%P (%Z)", &local);
  }
  return text;
}

// How far the figures may be trusted: samples, how many of their stacks are not
// whole, and what is missing. Empty for profiles of other makers.
std::string TrustLine(const Profile& profile) {
  const auto samples = profile.FindComment("unspool.samples");
  const auto truncated = profile.FindComment("unspool.truncated");
  const auto lost = profile.FindComment("unspool.lost");
  if (!samples || !truncated || !lost) return "";
  const std::string percentage =
      FormatPercentage(std::atof(std::string(*truncated).c_str()),
                       std::atof(std::string(*samples).c_str()));
  return "Samples: " + Printable(*samples) +
         ", truncated: " + Printable(*truncated) + " (" +
         percentage.substr(percentage.find_first_not_of(' ')) +
         "), lost: " + Printable(*lost) + "\n";
}

// What was chosen of the profile, as the user wrote it. Empty: all of it.
std::string FilterLine(const FilterRequest& filter) {
  const std::pair<const char*, const std::string&> parts[] = {
      {"focus", filter.focus},
      {"ignore", filter.ignore},
      {"tagfocus", filter.tag},
      {"thread", filter.thread}};
  std::string line;
  for (const auto& [name, value] : parts) {
    if (!value.empty()) line += std::string(" ") + name + "=" + value;
  }
  return line.empty() ? "" : "Active filters:" + Printable(line) + "\n";
}

// A difference: what both were before one was scaled to the other.
std::string DiffLine(const ReportContext& context) {
  const auto sums = FindDiffSums(context.profile, context.value_index);
  if (!sums) return "";
  return "Change from " + FormatValue(sums->base, context.unit(), "auto") +
         " to " + FormatValue(sums->profile, context.unit(), "auto") +
         (sums->base == 0 || sums->profile == 0
              ? ", not scaled: one is empty\n"
              : ", the latter scaled to the former\n");
}

}  // namespace

ValueColumns::ValueColumns(const ReportContext& context, int64_t smallest,
                           int64_t total)
    : total_(total),
      is_difference_(context.is_difference),
      unit_(context.unit()),
      table_unit_(ChooseTableUnit(smallest, total, unit_)) {}

double ValueColumns::Share(int64_t value) const {
  return total_ == 0 ? 0
                     : static_cast<double>(Magnitude(value)) /
                           static_cast<double>(total_);
}

std::string ValueColumns::Value(int64_t value) const {
  return FormatValue(value, unit_, table_unit_);
}

std::string ValueColumns::Percent(int64_t value) const {
  std::string text =
      FormatPercentage(static_cast<double>(value), static_cast<double>(total_));
  if (!is_difference_) return text;
  text.insert(0, " ");
  const size_t sign = text.find_first_not_of(' ') - 1;
  if (value != 0) text[sign] = value < 0 ? '-' : '+';
  return text;
}

void WriteHidden(const ValueColumns& columns, size_t count, int64_t sum,
                 std::ostream& out) {
  if (count == 0) return;
  const std::string percent = columns.Percent(sum);
  out << "... and " << count << " more, " << columns.Value(sum) << " ("
      << percent.substr(percent.find_first_not_of(' '))
      << "): --nodecount 0 shows all\n";
}

void WriteReportHeader(const ReportContext& context,
                       const ValueColumns& columns, std::ostream& out) {
  const Profile& profile = context.profile;
  const ValueType& type = profile.sample_types[context.value_index];
  if (!profile.mappings.empty()) {
    out << "File: "
        << Printable(BaseName(profile.strings[profile.mappings[0].filename]))
        << '\n';
  }
  out << "Type: " << Printable(profile.strings[type.type]) << '\n';
  if (profile.time_ns != 0) {
    out << "Time: " << FormatTime(profile.time_ns) << '\n';
  }
  if (profile.duration_ns != 0) {
    out << "Duration: "
        << FormatValue(profile.duration_ns, "nanoseconds", "auto")
        << ", Total samples = " << columns.Value(columns.total()) << ' ';
    const Quantity nanoseconds =
        ScaleValue(columns.total(), context.unit(), "nanoseconds");
    if (nanoseconds.unit == "ns" && columns.total() != 0) {
      out << '('
          << FormatPercentage(nanoseconds.amount,
                              static_cast<double>(profile.duration_ns))
          << ')';
    }
    out << '\n';
  }
  out << TrustLine(profile) << DiffLine(context)
      << FilterLine(context.request.filter);
}

}  // namespace unspool::exporters
