#include "profiler/cli/recording_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>

#include "collectors/spool/spool_writer.h"
#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

using collectors::kSpoolPageSize;
using collectors::PageRun;

constexpr uint64_t kGiB = uint64_t{1} << 30;

[[noreturn]] void CannotCreate(const std::string& why) {
  throw Failure(kExitFailure, "cannot create the recording in memory: " + why);
}

// Room for a tree of processes, and no more than a quarter of the memory that
// the recording would fill. Every process maps it whole, and the tool too: at
// most a sixteenth of the address space that they may have.
uint64_t WantedCapacity() {
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t wanted = std::clamp(memory / 4, kGiB, 16 * kGiB);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0) return wanted;
  return std::min<uint64_t>(wanted, limit.rlim_cur / 16);
}

bool WriteAll(int fd, const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

RecordingSpool::RecordingSpool() {
  fd_ = UniqueFd(memfd_create("unspool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd_.is_valid()) CannotCreate(ErrnoText(errno) + "; close files");
  struct stat status {};
  if (collectors::SpoolWriter::Create(fd_.get(), WantedCapacity()) !=
          collectors::SpoolStatus::kOk ||
      fstat(fd_.get(), &status) != 0) {
    CannotCreate(
        "no room for it; raise the limits on file size (ulimit -f) and on "
        "memory (ulimit -v)");
  }
  size_ = static_cast<uint64_t>(status.st_size);
  inode_ = status.st_ino;
  void* const map =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (map == MAP_FAILED) {
    CannotCreate(ErrnoText(errno) + "; raise the memory limit (ulimit -v)");
  }
  bytes_ = static_cast<uint8_t*>(map);

  // Not getpid(): in a pid namespace without its own /proc the numbers differ.
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self", error);
  if (error) CannotCreate("/proc/self: " + error.message() + "; mount /proc");
  path_ = "/proc/" + self.string() + "/fd/" + std::to_string(fd_.get());
}

RecordingSpool::~RecordingSpool() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

uint32_t RecordingSpool::module_count() const {
  return std::atomic_ref<uint32_t>(control().modules)
      .load(std::memory_order_relaxed);
}

void RecordingSpool::StopSampling() {
  std::atomic_ref<uint32_t>(control().sampling)
      .store(0, std::memory_order_relaxed);
}

collectors::SpoolHeader& RecordingSpool::header() const {
  return *reinterpret_cast<collectors::SpoolHeader*>(bytes_);
}

collectors::SpoolControl& RecordingSpool::control() const {
  return *reinterpret_cast<collectors::SpoolControl*>(bytes_ + kSpoolPageSize);
}

uint64_t RecordingSpool::used_pages() const {
  uint64_t used = std::atomic_ref<uint64_t>(header().next_free_page).load();
  for (const auto& [first, pages] : free_) used -= pages;
  for (uint64_t& word : control().free_runs) {
    used -= PageRun::FromWord(std::atomic_ref<uint64_t>(word).load()).pages;
  }
  return used;
}

// Neighbours become one run.
void RecordingSpool::KeepUnused(PageRun run) {
  if (run.first < collectors::kFirstChunkPage ||
      run.end() > size_ / kSpoolPageSize || run.pages == 0) {
    return;
  }
  auto next = free_.lower_bound(run.first);
  if (next != free_.end() && next->first == run.end()) {
    run.pages += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == run.first) {
      previous->second += run.pages;
      return;
    }
  }
  free_.emplace(run.first, run.pages);
}

void RecordingSpool::Free(std::span<const PageRun> runs) {
  WithdrawUnused();
  for (const PageRun& run : runs) {
    if (fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(run.first * kSpoolPageSize),
                  static_cast<off_t>(run.pages * kSpoolPageSize)) == 0) {
      KeepUnused(run);
    }
  }
  OfferUnused();
}

// Only for a moment: who needs pages meanwhile takes new ones.
bool RecordingSpool::Read(collectors::SpoolReader& reader) {
  WithdrawUnused();
  const auto status = reader.Open(bytes(), unused());
  OfferUnused();
  return status == collectors::SpoolStatus::kOk;
}

// The largest ones: what is asked for are runs.
void RecordingSpool::OfferUnused() {
  unused_.clear();
  std::vector<PageRun> runs;
  for (const auto& [first, pages] : free_) {
    runs.push_back({first, std::min(pages, PageRun::kMostPages)});
  }
  std::sort(runs.begin(), runs.end(), [](const PageRun& a, const PageRun& b) {
    return a.pages > b.pages;
  });
  auto& slots = control().free_runs;
  runs.resize(std::min(runs.size(), std::size(slots)));
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto rest = free_.extract(runs[i].first);
    const uint64_t pages = rest.mapped() - runs[i].pages;
    if (pages != 0) free_.emplace(runs[i].end(), pages);
    std::atomic_ref<uint64_t>(slots[i]).store(runs[i].word());
  }
}

void RecordingSpool::WithdrawUnused() {
  for (uint64_t& word : control().free_runs) {
    KeepUnused(PageRun::FromWord(std::atomic_ref<uint64_t>(word).exchange(0)));
  }
  unused_.clear();
  for (const auto& [first, pages] : free_) unused_.push_back({first, pages});
}

bool RecordingSpool::SaveTo(const std::string& path) const {
  const UniqueFd out(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out.is_valid()) return false;
  const bool is_good = WriteUsedPages(out.get()) &&
                       ftruncate(out.get(), static_cast<off_t>(size_)) == 0;
  if (!is_good) {
    const int error = errno;
    unlink(path.c_str());
    errno = error;
  }
  return is_good;
}

// All that hold something; what else there is of the file is a hole.
bool RecordingSpool::WriteUsedPages(int fd) const {
  const uint64_t end =
      std::min(std::atomic_ref<uint64_t>(header().next_free_page).load(),
               size_ / kSpoolPageSize);
  uint64_t page = 0;
  const auto write_until = [&](uint64_t until) {
    if (until <= page) return true;
    const auto offset = static_cast<off_t>(page * kSpoolPageSize);
    return lseek(fd, offset, SEEK_SET) == offset &&
           WriteAll(fd, bytes_ + offset, (until - page) * kSpoolPageSize);
  };
  for (const PageRun& run : unused_) {
    if (!write_until(std::min(run.first, end))) return false;
    page = run.end();
  }
  return write_until(end);
}

}  // namespace unspool::profiler
