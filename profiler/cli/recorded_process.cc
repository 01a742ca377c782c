#include "profiler/cli/recorded_process.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::profiler {
namespace {

uint64_t ParseHex(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

bool HasBuildId(int fd, std::span<const uint8_t> build_id) {
  unwind::MappedFile file;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  unwind::ElfFile elf;
  if (file.Open(path.c_str()) != 0 ||
      elf.Parse(file.bytes()) != unwind::ElfError::kNone) {
    return false;
  }
  const unwind::BuildId found = elf.FindBuildId();
  return std::ranges::equal(std::span(found.bytes).first(found.size), build_id);
}

// Whether an open file has this name, or had it when it was deleted.
bool IsCalled(int fd, const std::string& path) {
  std::error_code error;
  const std::string name = std::filesystem::read_symlink(
                               "/proc/self/fd/" + std::to_string(fd), error)
                               .string();
  return name == path || name == path + " (deleted)";
}

}  // namespace

// The process may end meanwhile, for which the file's buffer throws (ESRCH) and
// the stream does not.
std::string ReadProc(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::string ReadMaps(pid_t pid) {
  return ReadProc("/proc/" + std::to_string(pid) + "/maps");
}

bool HasSpool(std::string_view maps, const RecordingSpool& spool) {
  const std::string wanted = " " + std::to_string(spool.inode()) + " ";
  size_t at = maps.find("/memfd:unspool");
  for (; at != maps.npos; at = maps.find("/memfd:unspool", at + 1)) {
    const size_t line = maps.rfind('\n', at) + 1;  // npos + 1 is 0
    if (maps.substr(line, at - line).find(wanted) != maps.npos) return true;
  }
  return false;
}

std::optional<RootId> ReadRootId(const std::string& process) {
  struct stat root {};
  std::error_code error;
  const auto mounts = std::filesystem::read_symlink(process + "/ns/mnt", error);
  if (error || stat((process + "/root").c_str(), &root) != 0) {
    return std::nullopt;
  }
  return RootId{root.st_dev, root.st_ino, mounts.string()};
}

// The last number of a line "NSpid:\t4711\t1" (proc(5), /proc/PID/status).
pid_t InnermostPid(pid_t pid) {
  const std::string status =
      ReadProc("/proc/" + std::to_string(pid) + "/status");
  const size_t line = status.find("\nNSpid:");
  if (line == status.npos) return pid;
  const size_t end = std::min(status.find('\n', line + 1), status.size());
  const size_t number = status.find_last_of("\t ", end - 1) + 1;
  pid_t innermost = 0;
  std::from_chars(status.data() + number, status.data() + end, innermost);
  return innermost;
}

uint32_t PidNamespaceOf(const std::string& process) {
  struct stat facts {};
  const std::string path = process + "/ns/pid";
  return stat(path.c_str(), &facts) == 0 ? static_cast<uint32_t>(facts.st_ino)
                                         : 0;
}

RecordedProcess::RecordedProcess(const RecordingSpool& spool, pid_t pid)
    : folder_("/proc/" + std::to_string(pid)), maps_(ReadMaps(pid)) {
  if (!HasSpool(maps_, spool)) maps_.clear();
}

RecordedProcess::Line RecordedProcess::FindLine(uint64_t address) const {
  std::string_view rest = maps_;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view range = line.substr(0, line.find(' '));
    const size_t dash = range.find('-');
    if (dash == range.npos || address < ParseHex(range) ||
        address >= ParseHex(range.substr(dash + 1))) {
      continue;
    }
    const size_t path = std::min(line.find('/'), line.size());
    return {range, line.substr(path)};
  }
  return {};
}

UniqueFd RecordedProcess::Open(const collectors::ModuleView& module) const {
  if (module.segment_count == 0) return UniqueFd();
  const Line line = FindLine(module.segments[0].start);
  const std::string path(module.path.begin(), module.path.end());
  const bool has_id = !module.build_id.empty();
  if (!has_id && line.path != path) return UniqueFd();
  struct Place {
    std::string path;
    std::string root;
    bool is_by_name;
  };
  const std::string mapped = folder_ + "/map_files/" + std::string(line.range);
  // Another file may be mapped there by now, even one with the same build id.
  std::vector<Place> places = {{mapped, "", true},
                               {path, folder_ + "/root", false}};
  if (has_id) {
    // What was renamed; and, of the program alone, where that is not allowed.
    places.push_back({mapped, "", false});
    places.push_back({folder_ + "/exe", "", false});
  }
  for (const Place& place : places) {
    UniqueFd fd(unwind::OpenBelow(place.path.c_str(), place.root.c_str()));
    if (!fd.is_valid() || (place.is_by_name && !IsCalled(fd.get(), path))) {
      continue;
    }
    if (!has_id || HasBuildId(fd.get(), module.build_id)) return fd;
  }
  return UniqueFd();
}

}  // namespace unspool::profiler
