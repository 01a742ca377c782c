#include "profiler/cli/view.h"

#include <errno.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/export.h"
#include "profiler/cli/message.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/progress.h"

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
  ProgressLine line;
  exporters::Symbolize(
      *profile, [&line](std::string_view what, uint64_t done, uint64_t total) {
        line.Show(what, done, total);
      });
  return *std::move(profile);
}

void WriteStdout(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Failure(kExitFailure,
                    "cannot write to stdout: " + ErrnoText(errno) +
                        "; name a file with export -o");
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

std::string Render(const exporters::Profile& profile,
                   const ExportOptions& options) {
  if (options.format == ExportFormat::kPprof) {
    return exporters::SerializePprof(profile, !options.output.ends_with(".pb"));
  }
  std::ostringstream out;
  const absl::Status status =
      options.format == ExportFormat::kFolded
          ? exporters::WriteFolded(profile, options.value, out)
          : exporters::WriteTop(profile, options.value, out);
  if (!status.ok()) {
    throw Failure(kExitFailure, "cannot show " + Quoted(options.file) + ": " +
                                    std::string(status.message()));
  }
  return std::move(out).str();
}

}  // namespace

int RunReport(const ReportOptions& options) {
  return RunExport({.file = options.file, .value = options.value});
}

int RunExport(const ExportOptions& options) {
  const bool to_stdout = options.output == "-";
  const std::string output = to_stdout ? "" : ResolveOutput(options.output);
  if (!to_stdout) CheckWritable(output);
  const std::string bytes =
      Render(LoadAndName(options.file, options.value), options);
  if (to_stdout) {
    WriteStdout(bytes);
    return kExitOk;
  }
  const absl::Status status = exporters::WriteFile(output, bytes);
  if (!status.ok()) {
    throw Failure(kExitFailure,
                  "cannot write " + std::string(status.message()));
  }
  return kExitOk;
}

int RunPrint(const PrintOptions& options) {
  WriteStdout(options.text);
  return kExitOk;
}

}  // namespace unspool::profiler
