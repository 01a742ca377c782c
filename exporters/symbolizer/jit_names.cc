#include "exporters/symbolizer/jit_names.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporters/symbolizer/jitdump.h"
#include "exporters/symbolizer/perf_map.h"

namespace unspool::exporters {
namespace {

struct Folder {
  std::string path;
  std::pair<dev_t, ino_t> id;
};

// A process that is gone, or another user's, has no folders.
void AddFolder(const std::string& path, std::vector<Folder>* folders) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return;
  const std::pair id(facts.st_dev, facts.st_ino);
  if (std::ranges::find(*folders, id, &Folder::id) != folders->end()) return;
  folders->push_back({path, id});
}

// perf's own convention (Linux, tools/perf/jvmti/jvmti_agent.c).
void AddDebugFolders(std::vector<Folder>* folders) {
  const char* base = getenv("JITDUMPDIR");
  if (base == nullptr || *base == '\0') base = getenv("HOME");
  if (base == nullptr || *base == '\0') return;
  glob_t found = {};
  const std::string pattern = base + std::string("/.debug/jit/*");
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      AddFolder(found.gl_pathv[i], folders);
    }
  }
  globfree(&found);
}

// Reads what the files say, and notes why they are not used.
template <typename Read>
void ReadFiles(const std::vector<Folder>& folders, const std::string& name,
               const JitProcess& process, JitAddresses* addresses,
               std::vector<std::string>* problems, Read read) {
  for (const Folder& folder : folders) {
    if (addresses->all_named()) return;
    const std::string path = folder.path + "/" + name;
    absl::StatusOr<JitFile> file = JitFile::Open(path, process);
    const absl::Status status = file.ok() ? read(*file) : file.status();
    if (status.ok() || absl::IsNotFound(status)) continue;
    problems->push_back(path + ": " + std::string(status.message()));
  }
}

}  // namespace

std::vector<std::string> FindJitNames(const JitProcess& process,
                                      JitAddresses* addresses) {
  const std::string pid = std::to_string(process.pid);
  std::vector<std::string> problems;
  std::vector<Folder> folders;
  AddFolder("/proc/" + pid + "/root/tmp", &folders);
  AddFolder("/tmp", &folders);
  const std::vector<Folder> map_folders = folders;
  AddFolder("/proc/" + pid + "/cwd", &folders);
  AddFolder(".", &folders);
  AddDebugFolders(&folders);
  ReadFiles(
      folders, "jit-" + pid + ".dump", process, addresses, &problems,
      [&](JitFile& file) { return ReadJitdump(file, process.pid, addresses); });
  ReadFiles(map_folders, "perf-" + pid + ".map", process, addresses, &problems,
            [&](JitFile& file) { return ReadPerfMap(file, addresses); });
  return problems;
}

}  // namespace unspool::exporters
