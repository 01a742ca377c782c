#include "profiler/cli/kept_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "collectors/spool/spool_format.h"
#include "profiler/cli/process_tree.h"
#include "unwind/load/debug_link.h"
#include "unwind/module.h"

namespace unspool::profiler {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr nanoseconds kSoon = std::chrono::milliseconds(5);
constexpr nanoseconds kLate = std::chrono::milliseconds(100);
constexpr int kShare = 50;  // of the time, at most one part for looking
constexpr int kMaxTries = 8;
constexpr size_t kMaxEntries = 1 << 16;

size_t DescriptorRoom() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  constexpr rlim_t kMost = 1 << 14;
  return std::min(limit.rlim_cur, kMost) / 2;
}

std::string Hex(std::span<const uint8_t> bytes) {
  unwind::BuildId id;
  id.size = static_cast<uint8_t>(std::min(bytes.size(), id.bytes.size()));
  std::copy_n(bytes.begin(), id.size, id.bytes.begin());
  return unwind::ToText(id).text;
}

std::string PathOf(const UniqueFd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

}  // namespace

// The processes of one look, by the numbers that they have in the recording.
class KeptFiles::Processes {
 public:
  explicit Processes(const RecordingSpool& spool) : spool_(spool) {}

  // Null: it has ended, or must not be looked at.
  const RecordedProcess* Find(const collectors::ImageView& image) {
    const Number number(image.pid_namespace, image.pid);
    auto entry = known_.find(number);
    if (entry == known_.end()) {
      entry = known_.emplace(number, Open(number)).first;
    }
    return entry->second.is_alive() ? &entry->second : nullptr;
  }

 private:
  using Number = std::pair<uint32_t, pid_t>;  // namespace and pid in it

  RecordedProcess Open(const Number& number) {
    RecordedProcess process(spool_, number.second);
    if (process.is_alive() && IsNumber(number.second, number)) return process;
    // In another pid namespace the numbers differ.
    if (!recorders_) recorders_ = FindRecorders(spool_);
    for (const pid_t pid : *recorders_) {
      if (IsNumber(pid, number)) return RecordedProcess(spool_, pid);
    }
    return RecordedProcess(spool_, 0);
  }

  static bool IsNumber(pid_t pid, const Number& number) {
    return InnermostPid(pid) == number.second &&
           (number.first == 0 ||
            PidNamespaceOf("/proc/" + std::to_string(pid)) == number.first);
  }

  const RecordingSpool& spool_;
  std::map<Number, RecordedProcess> known_;
  std::optional<std::vector<pid_t>> recorders_;
};

KeptFiles::KeptFiles(RecordingSpool& spool)
    : spool_(spool), room_(DescriptorRoom()), interval_(kSoon) {}

nanoseconds KeptFiles::Look() {
  const uint32_t modules = spool_.module_count();
  if (modules == seen_modules_) {
    interval_ = std::min(2 * interval_, std::max(interval_, kLate));
    return interval_;
  }
  seen_modules_ = modules;
  const auto start = steady_clock::now();
  LookThrough();
  interval_ = std::max(kSoon, kShare * (steady_clock::now() - start));
  return interval_;
}

void KeptFiles::LookThrough() {
  collectors::SpoolReader reader;
  if (!spool_.Read(reader)) return;
  Processes processes(spool_);
  // The last processes are the likeliest to live.
  for (size_t i = reader.image_count(); i-- > 0;) {
    const collectors::ImageView image = reader.image(i);
    if (image.end_monotonic_ns != 0) continue;
    if (folders_.IsWanted(image.index)) {
      const RecordedProcess* process = processes.Find(image);
      if (process != nullptr) {
        folders_.Keep(image.index, image.pid, *process, &room_);
      }
    }
    reader.ForEachModule(i, [&](const collectors::ModuleView& module) {
      Consider(module, image, processes);
    });
  }
}

void KeptFiles::Consider(const collectors::ModuleView& module,
                         const collectors::ImageView& image,
                         Processes& processes) {
  const bool is_file = !module.path.empty() && module.path[0] == '/' &&
                       (module.flags & (collectors::kModuleVdso |
                                        collectors::kModuleRegistered)) == 0;
  if (!is_file || room_ == 0 || entries_.size() == kMaxEntries) return;
  Entry& entry = entries_[{std::string(module.path.begin(), module.path.end()),
                           Hex(module.build_id)}];
  if (entry.file.is_valid() || entry.tries == kMaxTries) return;
  ++entry.tries;
  const RecordedProcess* process = processes.Find(image);
  if (process == nullptr) return;
  entry.file = process->Open(module);
  if (!entry.file.is_valid()) return;
  --room_;
  entry.root = KeepRoot(*process);
}

// Null for the root that the tool sees, and where no descriptor is left.
const UniqueFd* KeptFiles::KeepRoot(const RecordedProcess& process) {
  const std::optional<RootId> id = ReadRootId(process.folder());
  if (!id || id == ReadRootId("/proc/self")) return nullptr;
  const auto known = roots_.find(*id);
  if (known != roots_.end()) return &known->second;
  if (room_ == 0) return nullptr;
  UniqueFd root(open((process.folder() + "/root").c_str(),
                     O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.is_valid()) return nullptr;
  --room_;
  return &roots_.emplace(*id, std::move(root)).first->second;
}

exporters::FoundFile KeptFiles::FindFile(const std::string& path,
                                         std::string_view build_id) const {
  const auto entry = entries_.find({path, std::string(build_id)});
  if (entry == entries_.end() || !entry->second.file.is_valid()) return {};
  return {PathOf(entry->second.file),
          entry->second.root == nullptr ? "" : PathOf(*entry->second.root)};
}

exporters::ProcessFolders KeptFiles::FindFolders(int64_t pid) const {
  return folders_.Find(pid);
}

}  // namespace unspool::profiler
