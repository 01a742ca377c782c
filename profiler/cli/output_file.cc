#include "profiler/cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "exporters/held_signals.h"
#include "profiler/agent/output_name.h"
#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

// 0, or why a file cannot be created beside `path`.
int TryBeside(const std::string& path) {
  std::string trial = path + ".tmpXXXXXX";
  const exporters::HeldSignals held;  // else it may stay
  const UniqueFd fd(mkostemp(trial.data(), O_CLOEXEC));
  if (!fd.is_valid()) return errno;
  return unlink(trial.c_str()) == 0 ? 0 : errno;
}

int WhyNotWritable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) {
    return TryBeside(path);
  }
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return access(path.c_str(), W_OK) == 0 ? 0 : errno;  // a pipe or device
}

}  // namespace

void CheckWritable(const std::string& path) {
  const int error = WhyNotWritable(path);
  if (error == 0) return;
  throw Failure(kExitFailure, "cannot write " + Quoted(path) + ": " +
                                  ErrnoText(error) +
                                  "; name another file with -o");
}

std::string ExpandPattern(const std::string& pattern, pid_t pid,
                          const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  const std::string directory = std::filesystem::current_path().string();
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof(host) - 1);
  OutputFacts facts;
  facts.pid = pid;
  facts.program = name.c_str();
  facts.time_s = static_cast<uint64_t>(time(nullptr));
  facts.host = host;
  facts.directory = directory.c_str();
  const auto expanded = std::make_unique<OutputName>();
  const Problem problem = ExpandOutput(pattern.c_str(), facts, expanded.get());
  if (!problem.ok()) throw Failure(kExitUsage, problem.text);
  return expanded->text;
}

std::string ResolveOutput(const std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  if (error || absolute.size() >= PATH_MAX) return path;
  const auto name = std::make_unique<OutputName>();
  absolute.copy(name->text, absolute.size());
  ResolveLinks(name.get());
  return name->text;
}

bool AwaitReader(const std::string& path, const SignalGate& gate,
                 UniqueFd* pipe) {
  constexpr timespec kNap = {0, 20'000'000};
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) {
    return true;
  }
  for (bool is_said = false;; is_said = true) {
    *pipe = UniqueFd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (pipe->is_valid() || errno != ENXIO) return true;
    if (gate.TakeRequestToEnd()) return false;
    if (!is_said) Tell("waiting until somebody reads from " + Quoted(path));
    nanosleep(&kNap, nullptr);
  }
}

}  // namespace unspool::profiler
