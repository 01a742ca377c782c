#include "profiler/cli/finish.h"

#include <errno.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collectors/spool/spool_reader.h"
#include "exporters/export.h"
#include "exporters/pprof_format.h"
#include "exporters/raw/raw_pprof.h"
#include "profiler/cli/message.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/progress.h"
#include "profiler/cli/summary.h"
#include "profiler/cli/unnamed.h"

namespace unspool::profiler {
namespace {

using exporters::RawStatus;

// Thrown out of the progress callback, hence through the exporters.
class Interrupted : public std::exception {};

bool Append(void* context, const void* data, size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                             size);
  return true;
}

// Where it was saved, or a sentence that it was not.
std::string SaveSpool(const RecordingSpool& spool, const std::string& output) {
  const std::string name = "unspool-" + std::to_string(getpid()) + ".spool";
  // Not beside a device.
  std::error_code error;
  const std::filesystem::path path(output);
  const bool is_special = std::filesystem::exists(path, error) &&
                          !std::filesystem::is_regular_file(path, error);
  const std::vector<std::string> directories = {
      is_special || !path.has_parent_path() ? "." : path.parent_path().string(),
      "/tmp", "/dev/shm"};
  for (const std::string& directory : directories) {
    const std::string saved = directory + "/" + name;
    if (!spool.SaveTo(saved)) continue;
    return "the recording is kept: unspool export " + ShellWord(saved) +
           " -o profile.pb.gz";
  }
  return "the recording could not be kept either: " + ErrnoText(errno);
}

std::string RawProfile(const RecordingSpool& spool, const ProgramEnd& end,
                       exporters::RawTotals* totals) {
  exporters::RawOptions options;
  options.end_monotonic_ns = end.monotonic_ns;
  options.unused = spool.unused();
  std::string bytes;
  const RawStatus status = exporters::WriteRawPprof(
      spool.bytes(), options, exporters::ByteSink{Append, &bytes}, totals);
  if (status == RawStatus::kOk) return bytes;
  if (status == RawStatus::kNoMemory) throw std::bad_alloc();
  // The tool wrote a valid header, so what is missing is an image.
  throw Failure(kExitFailure,
                "nothing was recorded: the agent did not start in the program; "
                "did a wrapper remove LD_PRELOAD or UNSPOOL_* from its "
                "environment, did it die before it could, or is it built with "
                "GCC's AddressSanitizer, which wants "
                "ASAN_OPTIONS=verify_asan_link_order=0?");
}

// CPU time of recorded processes that the program did not wait for, because
// they ended after it.
uint64_t OutlivingCpuNs(const RecordingSpool& spool, const ProgramEnd& end) {
  collectors::SpoolReader reader;
  if (reader.Open(spool.bytes(), spool.unused()) !=
      collectors::SpoolStatus::kOk) {
    return 0;
  }
  uint64_t cpu_ns = 0;
  reader.ForEachImage([&](const collectors::ImageView& image) {
    if (image.end_monotonic_ns > end.monotonic_ns) cpu_ns += image.end_cpu_ns;
  });
  return cpu_ns;
}

void NameAll(exporters::Profile& profile, const KeptFiles& files,
             const SignalGate& gate) {
  ProgressLine line;
  try {
    exporters::Symbolize(
        profile,
        [&](std::string_view what, uint64_t done, uint64_t total) {
          if (gate.TakeRequestToEnd()) throw Interrupted();
          line.Show(what, done, total);
        },
        &files);
  } catch (const Interrupted&) {
    // Unnamed locations are named when the profile is looked at.
  }
}

absl::Status NameAndWrite(const std::string& raw, const std::string& output,
                          const KeptFiles& files, const SignalGate& gate) {
  absl::StatusOr<exporters::Profile> profile = exporters::DecodePprof(raw);
  if (!profile.ok()) return profile.status();
  const size_t told = profile->comments.size();
  NameAll(*profile, files, gate);
  TellUnnamed(*profile, told);
  UniqueFd pipe;
  if (!AwaitReader(output, gate, &pipe)) {
    return absl::CancelledError("nobody read from it");
  }
  return exporters::WritePprof(*profile, output);
}

}  // namespace

void FinishRecording(const RecordOptions& options, const std::string& output,
                     const RecordingSpool& spool, const KeptFiles& files,
                     const ProgramEnd& end, const SignalGate& gate) {
  SummaryFacts facts;
  std::string problem;
  try {
    const std::string raw = RawProfile(spool, end, &facts.totals);
    problem = std::string(NameAndWrite(raw, output, files, gate).message());
  } catch (const Failure&) {
    throw;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (problem.starts_with(output + ": ")) problem.erase(0, output.size() + 2);
  if (!problem.empty()) {
    throw Failure(kExitFailure, "cannot write " + Quoted(output) + ": " +
                                    problem + "; " + SaveSpool(spool, output));
  }
  facts.engine = facts.totals.engine;
  facts.frequency = options.frequency;
  facts.follows_children = options.follows_children;
  facts.cpu_time_ns = options.duration.has_value()
                          ? 0
                          : end.cpu_time_ns + OutlivingCpuNs(spool, end);
  const bool is_pattern = options.output.find('%') != std::string::npos;
  facts.output = is_pattern ? output : options.output;
  Tell(SummaryLine(facts));
}

}  // namespace unspool::profiler
