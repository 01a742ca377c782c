#include "exporters/symbolizer/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include <chrono>
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
  // The function is called some times a second; other than 0 ends the download.
  void (*set_progressfn)(void* client,
                         int (*function)(void*, long, long)) = nullptr;
  void (*set_user_data)(void* client, void* data) = nullptr;
  void* (*get_user_data)(void* client) = nullptr;
  void (*end)(void* client) = nullptr;

  bool is_there() const {
    return begin && find_debuginfo && set_progressfn && set_user_data &&
           get_user_data && end;
  }
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
  Resolve(library, "debuginfod_set_progressfn", &functions.set_progressfn);
  Resolve(library, "debuginfod_set_user_data", &functions.set_user_data);
  Resolve(library, "debuginfod_get_user_data", &functions.get_user_data);
  Resolve(library, "debuginfod_end", &functions.end);
  return functions;
}

const Library& Functions() {
  static const Library kFunctions = LoadLibrary();
  return kFunctions;
}

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kMaxSilence(30);
constexpr seconds kMaxDownload(600);

seconds MaxSilence() {
  const char* text = getenv("DEBUGINFOD_TIMEOUT");
  const int given = text == nullptr ? 0 : atoi(text);
  return given > 0 ? seconds(given) : kMaxSilence;
}

}  // namespace

// One, from its start to its end.
struct Debuginfod::Download {
  Debuginfod& servers;
  const steady_clock::time_point start = steady_clock::now();
  const seconds max_silence = MaxSilence();
  steady_clock::time_point last_headway = start;
  long done = 0;  // bytes

  bool IsTooSlow() const {
    const steady_clock::time_point now = steady_clock::now();
    return now - last_headway > max_silence || now - start > kMaxDownload;
  }
};

// `total` is 0 until a server has said how much it will send, and `done` is
// then no number of bytes.
int Debuginfod::OnProgress(void* client, long done, long total) {
  auto* download = static_cast<Download*>(Functions().get_user_data(client));
  if (total > 0 && done != download->done) {
    download->done = done;
    download->last_headway = steady_clock::now();
  }
  if (download->IsTooSlow()) download->servers.is_too_slow_ = true;
  return download->servers.is_stopped_ || download->servers.is_too_slow_ ? 1
                                                                         : 0;
}

absl::Status Debuginfod::CheckUsable() const {
  if (is_stopped_) return absl::CancelledError("was interrupted");
  if (!is_too_slow_) return absl::OkStatus();
  return absl::DeadlineExceededError(
      "the servers of DEBUGINFOD_URLS are too slow and not asked any more");
}

absl::StatusOr<std::string> Debuginfod::Find(const std::string& build_id) {
  const char* servers = getenv("DEBUGINFOD_URLS");
  if (servers == nullptr || *servers == '\0' || build_id.empty()) {
    return absl::NotFoundError("no server is to be asked");
  }
  if (!Functions().is_there()) {
    return absl::UnavailableError(
        "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be loaded: "
        "install libdebuginfod1, or unset it");
  }
  absl::Status status = CheckUsable();
  if (!status.ok()) return status;
  const std::unique_ptr<void, void (*)(void*)> client(Functions().begin(),
                                                      Functions().end);
  if (client == nullptr) return absl::ResourceExhaustedError("no memory");
  Download download = {.servers = *this};
  Functions().set_user_data(client.get(), &download);
  Functions().set_progressfn(client.get(), OnProgress);
  char* found = nullptr;
  const int fd = Functions().find_debuginfo(
      client.get(), reinterpret_cast<const unsigned char*>(build_id.c_str()), 0,
      &found);
  const std::unique_ptr<char, void (*)(void*)> path(found, &free);
  if (fd >= 0) {
    close(fd);
    return path == nullptr ? "" : path.get();
  }
  if (fd == -ETIME) is_too_slow_ = true;
  status = CheckUsable();
  if (!status.ok()) return status;
  return absl::ErrnoToStatus(-fd, "the servers of DEBUGINFOD_URLS failed");
}

}  // namespace unspool::exporters
