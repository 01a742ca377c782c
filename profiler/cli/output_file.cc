#include "profiler/cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "profiler/cli/message.h"
#include "profiler/cli/unique_fd.h"

namespace unspool::profiler {
namespace {

// 0, or why a file cannot be created beside `path`.
int TryBeside(const std::string& path) {
  std::string trial = path + ".tmpXXXXXX";
  const UniqueFd fd(mkostemp(trial.data(), O_CLOEXEC));
  if (!fd.valid()) return errno;
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

std::string ResolveOutput(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error) return real.string();
  }
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace unspool::profiler
