#include "profiler/cli/agent_library.h"

#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "profiler/cli/message.h"

namespace unspool::profiler {

namespace {

// Without /proc, the path that was given to execve(2).
std::filesystem::path OwnPath() {
  std::error_code error;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self;
  const auto* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  self = std::filesystem::canonical(given, error);
  if (!error) return self;
  throw Failure(kExitFailure, "cannot find libunspool.so: /proc/self/exe: " +
                                  error.message() + "; mount /proc");
}

}  // namespace

void CheckPreloadable(const std::string& path) {
  if (path.find_first_of(": $") == std::string::npos) return;
  throw Failure(kExitFailure,
                "cannot preload " + Quoted(path) +
                    ": LD_PRELOAD cannot carry a path with ':', '$' or a "
                    "space; install unspool in another directory");
}

std::string FindAgentLibrary() {
  const std::filesystem::path self = OwnPath();
  std::string path =
      (self.parent_path().parent_path() / "lib" / "libunspool.so").string();
  if (access(path.c_str(), R_OK) != 0) {
    throw Failure(kExitFailure,
                  "cannot preload " + Quoted(path) + ": " + ErrnoText(errno) +
                      "; install unspool whole: bin/unspool needs "
                      "lib/libunspool.so beside bin");
  }
  CheckPreloadable(path);
  return path;
}

}  // namespace unspool::profiler
