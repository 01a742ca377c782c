#include "profiler/cli/kept_folders.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "unwind/load/mapped_file.h"

namespace unspool::profiler {
namespace {

constexpr int kMaxTries = 8;
constexpr int kFound = kMaxTries;
constexpr size_t kMaxImages = 1 << 16;

}  // namespace

bool KeptFolders::IsWanted(uint32_t image) {
  if (tries_.size() == kMaxImages && !tries_.contains(image)) return false;
  int& tries = tries_[image];
  if (tries == kMaxTries) return false;
  ++tries;
  return true;
}

void KeptFolders::Keep(uint32_t image, int64_t pid,
                       const RecordedProcess& process, size_t* room) {
  const std::optional<RootId> root = ReadRootId(process.folder());
  if (!root) return;
  Kept kept;
  if (root == ReadRootId("/proc/self")) {
    std::error_code error;
    kept.temporary = "/tmp";
    kept.working =
        std::filesystem::read_symlink(process.folder() + "/cwd", error);
  } else {
    const std::string root_path = process.folder() + "/root";
    kept.temporary =
        KeepOpen(UniqueFd(unwind::OpenBelow("/tmp", root_path.c_str())), room);
    kept.working = KeepOpen(UniqueFd(open((process.folder() + "/cwd").c_str(),
                                          O_PATH | O_DIRECTORY | O_CLOEXEC)),
                            room);
  }
  tries_[image] = kFound;
  of_process_.emplace(pid, std::move(kept));
}

// Where it is to be found from now on; "" if it cannot be kept.
std::string KeptFolders::KeepOpen(UniqueFd folder, size_t* room) {
  struct stat facts {};
  if (!folder.is_valid() || fstat(folder.get(), &facts) != 0) return "";
  const std::pair id(facts.st_dev, facts.st_ino);
  auto known = opened_.find(id);
  if (known == opened_.end()) {
    if (*room == 0) return "";
    --*room;
    known = opened_.emplace(id, std::move(folder)).first;
  }
  return "/proc/self/fd/" + std::to_string(known->second.get());
}

exporters::ProcessFolders KeptFolders::Find(int64_t pid) const {
  exporters::ProcessFolders folders;
  for (auto [at, end] = of_process_.equal_range(pid); at != end; ++at) {
    const Kept& kept = at->second;
    if (!kept.temporary.empty()) folders.temporary.push_back(kept.temporary);
    if (!kept.working.empty()) folders.working.push_back(kept.working);
  }
  return folders;
}

}  // namespace unspool::profiler
