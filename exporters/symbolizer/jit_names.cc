#include "exporters/symbolizer/jit_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/symbolizer/jitdump.h"
#include "exporters/symbolizer/perf_map.h"

namespace unspool::exporters {
namespace {

// Some hundred runs of an LLVM-based compiler leave as many folders.
constexpr size_t kMaxDebugEntries = size_t{1} << 14;

struct Folder {
  std::string path;   // ends in a slash, both
  std::string shown;  // as users know it
  std::pair<dev_t, ino_t> id;
};

class Folders {
 public:
  // A process that is gone, or another user's, has none.
  void Add(const std::string& path, const std::string& shown) {
    struct stat facts;
    if (stat(path.c_str(), &facts) != 0) return;
    const std::pair id(facts.st_dev, facts.st_ino);
    if (std::ranges::find(list_, id, &Folder::id) != list_.end()) return;
    list_.push_back({path + "/", shown + "/", id});
  }
  void Add(const std::string& path) { Add(path, path); }
  const std::vector<Folder>& list() const { return list_; }

 private:
  std::vector<Folder> list_;
};

Folders TemporaryFolders(const JitProcess& process) {
  Folders folders;
  for (const std::string& path : process.folders.temporary) {
    folders.Add(path, "/tmp");
  }
  if (folders.list().empty() && process.has_our_number) {
    folders.Add("/proc/" + std::to_string(process.pid) + "/root/tmp");
    folders.Add("/tmp");
  }
  return folders;
}

Folders WorkingFolders(const JitProcess& process) {
  Folders folders;
  for (const std::string& path : process.folders.working) {
    folders.Add(path, ".");
  }
  if (process.has_our_number) {
    folders.Add("/proc/" + std::to_string(process.pid) + "/cwd");
    folders.Add(".");
  }
  return folders;
}

}  // namespace

// perf's own convention (Linux, tools/perf/jvmti/jvmti_agent.c):
// .debug/jit/KIND-DATE.RANDOM/jit-PID.dump.
void JitNames::ListDebugFolders() {
  if (std::exchange(is_listed_, true)) return;
  const char* base = getenv("JITDUMPDIR");
  if (base == nullptr || *base == '\0') base = getenv("HOME");
  if (base == nullptr || *base == '\0') return;
  const std::string folder = base + std::string("/.debug/jit");
  using Iterator = std::filesystem::recursive_directory_iterator;
  std::error_code error;
  size_t count = 0;
  for (Iterator entry(
           folder, std::filesystem::directory_options::skip_permission_denied,
           error);
       !error && entry != Iterator(); entry.increment(error)) {
    tick_();
    if (++count > kMaxDebugEntries) {
      problems_.push_back(folder + ": has more files than are looked at, " +
                          std::to_string(kMaxDebugEntries) +
                          ": remove old ones");
      return;
    }
    if (entry.depth() == 0) continue;
    entry.disable_recursion_pending();
    dumps_.emplace(entry->path().filename(), entry->path());
  }
}

// Notes why a file is not used.
template <typename Read>
void JitNames::ReadFile(const std::string& path, const std::string& shown_path,
                        const JitProcess& process,
                        const JitAddresses& addresses, Read read) {
  if (addresses.all_named()) return;
  absl::StatusOr<JitFile> file = JitFile::Open(path, process, tick_);
  const absl::Status status = file.ok() ? read(*file) : file.status();
  if (status.ok() || absl::IsNotFound(status)) return;
  problems_.push_back(shown_path + ": " + std::string(status.message()));
}

void JitNames::Find(const JitProcess& process, JitAddresses* addresses) {
  const std::string dump = "jit-" + std::to_string(process.pid) + ".dump";
  const std::string map = "perf-" + std::to_string(process.pid) + ".map";
  const Folders temporary = TemporaryFolders(process);
  const Folders working = WorkingFolders(process);
  const auto read_dump = [&](JitFile& file) {
    return ReadJitdump(file, process.pid, addresses);
  };
  for (const Folders* folders : {&temporary, &working}) {
    for (const Folder& folder : folders->list()) {
      ReadFile(folder.path + dump, folder.shown + dump, process, *addresses,
               read_dump);
    }
  }
  if (process.has_our_number) ListDebugFolders();
  for (auto [at, end] = dumps_.equal_range(dump);
       process.has_our_number && at != end; ++at) {
    ReadFile(at->second, at->second, process, *addresses, read_dump);
  }
  for (const Folder& folder : temporary.list()) {
    ReadFile(folder.path + map, folder.shown + map, process, *addresses,
             [&](JitFile& file) { return ReadPerfMap(file, addresses); });
  }
}

}  // namespace unspool::exporters
