#include "profiler/cli/view.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/export.h"
#include "exporters/merge.h"
#include "exporters/report.h"
#include "exporters/short_names.h"
#include "profiler/cli/message.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/progress.h"
#include "profiler/cli/unnamed.h"

namespace unspool::profiler {
namespace {

void CheckValue(const exporters::Profile& profile, const std::string& value,
                const std::string& path) {
  if (value.empty() || profile.FindSampleType(value).has_value()) return;
  std::string known;
  for (const exporters::ValueType& type : profile.sample_types) {
    known += (known.empty() ? "" : ", ");
    known += profile.strings[type.type];
  }
  throw Failure(kExitUsage, Quoted(path) + " has no value type " +
                                Quoted(value) + ": give one of " + known);
}

exporters::Profile LoadAndName(const std::string& path,
                               const std::string& value) {
  absl::StatusOr<exporters::Profile> profile = exporters::LoadProfile(path);
  if (!profile.ok()) {
    throw Failure(kExitFailure,
                  "cannot read " + std::string(profile.status().message()) +
                      "; give a pprof profile or an unspool spool");
  }
  CheckValue(*profile, value, path);
  const size_t told = profile->comments.size();
  {
    ProgressLine line;
    exporters::Symbolize(
        *profile, [&line](std::string_view what, uint64_t done,
                          uint64_t total) { line.Show(what, done, total); });
  }
  TellUnnamed(*profile, told);
  return *std::move(profile);
}

void CheckWritten(const absl::Status& status) {
  if (status.ok()) return;
  throw Failure(kExitFailure, "cannot write " + std::string(status.message()));
}

using Writer = absl::Status (*)(const exporters::Profile& profile,
                                std::string_view value, std::ostream& out);

// Precondition: not kPprof, which is bytes.
Writer WriterOf(ExportFormat format) {
  switch (format) {
    case ExportFormat::kFolded:
      return exporters::WriteFolded;
    case ExportFormat::kHtml:
      return exporters::WriteFlameHtml;
    case ExportFormat::kSvg:
      return exporters::WriteFlameSvg;
    default:
      return exporters::WriteTop;
  }
}

void WriteStdout(const std::string& text) {
  CheckWritten(exporters::WriteStdout([&text](std::ostream& out) {
    out << text;
    return absl::OkStatus();
  }));
}

// As wide as the terminal, in colour unless https://no-color.org says no; all
// and plain where stdout is something else.
exporters::TextStyle StdoutStyle() {
  exporters::TextStyle style;
  if (isatty(STDOUT_FILENO) != 1) return style;
  constexpr size_t kRowsBesides = 8;  // the lines above a table, and a prompt
  winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  style.width = is_known && size.ws_col != 0 ? size.ws_col : 80;
  style.rows = std::max<size_t>(is_known ? size.ws_row : 0, 24 + kRowsBesides) -
               kRowsBesides;
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  style.is_color = (no_color == nullptr || *no_color == '\0') &&
                   term != nullptr && std::string_view(term) != "dumb";
  return style;
}

// Where the result goes: stdout, or a file that was tried before the work.
class Output {
 public:
  explicit Output(const std::string& name)
      : name_(name), path_(name == "-" ? "" : ResolveOutput(name)) {
    if (!path_.empty()) CheckWritable(path_);
  }

  void Write(const exporters::Render& render) const {
    CheckWritten(path_.empty() ? exporters::WriteStdout(render)
                               : exporters::WriteFile(path_, render));
  }

  void WriteProfile(const exporters::Profile& profile) const {
    Write([this, &profile](std::ostream& out) {
      out << exporters::SerializePprof(profile, !name_.ends_with(".pb"));
      return absl::OkStatus();
    });
  }

  void WriteFormat(const exporters::Profile& profile,
                   const ExportOptions& options) const {
    if (options.format == ExportFormat::kPprof) return WriteProfile(profile);
    Write([&profile, &options](std::ostream& out) {
      return WriterOf(options.format)(profile, options.value, out);
    });
  }

 private:
  const std::string name_;
  const std::string path_;  // empty: stdout
};

[[noreturn]] void FailToCombine(const std::string& verb,
                                const std::string& file,
                                const std::string& first,
                                const absl::Status& status) {
  throw Failure(kExitFailure, "cannot " + verb + " " + Quoted(file) + ": " +
                                  std::string(status.message()) + " in " +
                                  Quoted(first) +
                                  "; give profiles that count the same");
}

}  // namespace

int RunReport(const ReportOptions& options) {
  exporters::ReportRequest request = options.request;
  exporters::Profile profile = LoadAndName(options.file, request.value);
  if (options.short_templates) exporters::ShortenTemplates(&profile);
  request.style = StdoutStyle();
  if (options.rows) request.style.rows = *options.rows;
  std::ostringstream out;
  const absl::Status status = exporters::WriteReport(profile, request, out);
  if (!status.ok()) {
    throw Failure(absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure,
                  "cannot show " + Quoted(options.file) + ": " +
                      std::string(status.message()));
  }
  WriteStdout(std::move(out).str());
  return kExitOk;
}

int RunExport(const ExportOptions& options) {
  const Output output(options.output);
  exporters::Profile profile = LoadAndName(options.file, options.value);
  if (options.short_templates) exporters::ShortenTemplates(&profile);
  output.WriteFormat(profile, options);
  return kExitOk;
}

int RunSymbolize(const SymbolizeOptions& options) {
  const Output output(options.output);
  output.WriteProfile(LoadAndName(options.file, ""));
  return kExitOk;
}

int RunMerge(const MergeOptions& options) {
  const Output output(options.output);
  exporters::Merger merger;
  for (const std::string& file : options.files) {
    const absl::Status status = merger.Add(LoadAndName(file, ""));
    if (!status.ok()) FailToCombine("add", file, options.files[0], status);
  }
  output.WriteProfile(merger.Take());
  return kExitOk;
}

int RunDiff(const DiffOptions& options) {
  const Output output(options.view.output);
  const exporters::Profile base = LoadAndName(options.base, options.view.value);
  absl::StatusOr<exporters::Profile> diff =
      exporters::Diff(base, LoadAndName(options.view.file, options.view.value));
  if (!diff.ok()) {
    FailToCombine("compare", options.view.file, options.base, diff.status());
  }
  if (options.view.short_templates) exporters::ShortenTemplates(&*diff);
  output.WriteFormat(*diff, options.view);
  return kExitOk;
}

int RunPrint(const PrintOptions& options) {
  WriteStdout(options.text);
  return kExitOk;
}

}  // namespace unspool::profiler
