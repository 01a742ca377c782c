#include "exporters/symbolizer/debuginfod.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

constexpr char kLibrary[] = "libdebuginfod.so.1";

// elfutils/debuginfod.h. Loaded when it is wanted: with it come curl and TLS,
// which would cost every start of the tool, and it may not be installed.
struct Library {
  void* (*begin)() = nullptr;
  // Returns a descriptor or a negative errno; a length of 0 says that the id is
  // text.
  int (*find_debuginfo)(void* client, const unsigned char* build_id, int length,
                        char** path) = nullptr;
  void (*end)(void* client) = nullptr;

  bool is_there() const { return begin && find_debuginfo && end; }
};

template <typename Function>
void Resolve(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}

Library LoadLibrary() {
  Library functions;
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return functions;
  Resolve(library, "debuginfod_begin", &functions.begin);
  Resolve(library, "debuginfod_find_debuginfo", &functions.find_debuginfo);
  Resolve(library, "debuginfod_end", &functions.end);
  return functions;
}

}  // namespace

absl::StatusOr<std::string> FindByDebuginfod(const std::string& build_id) {
  const char* servers = getenv("DEBUGINFOD_URLS");
  if (servers == nullptr || *servers == '\0' || build_id.empty()) {
    return absl::NotFoundError("no server is to be asked");
  }
  static const Library kFunctions = LoadLibrary();
  if (!kFunctions.is_there()) {
    return absl::UnavailableError(
        "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be loaded: "
        "install libdebuginfod1, or unset it");
  }
  const std::unique_ptr<void, void (*)(void*)> client(kFunctions.begin(),
                                                      kFunctions.end);
  if (client == nullptr) return absl::ResourceExhaustedError("no memory");
  char* found = nullptr;
  const int fd = kFunctions.find_debuginfo(
      client.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0,
      &found);
  const std::unique_ptr<char, void (*)(void*)> path(found, &free);
  if (fd < 0) {
    return absl::ErrnoToStatus(-fd, "the servers of DEBUGINFOD_URLS failed");
  }
  close(fd);
  return path == nullptr ? "" : path.get();
}

}  // namespace unspool::exporters
